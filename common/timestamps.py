"""Points in time: Unix milliseconds (UTC) inside, ISO 8601 where clients or people read them."""

import time
from datetime import UTC, datetime


def now_ms() -> int:
    """Return the machine's time of day as Unix milliseconds."""
    return time.time_ns() // 1_000_000


def iso_utc(moment: datetime) -> str:
    """Return a point in time as ISO 8601 in UTC with milliseconds and ``Z``."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def format_timestamp(unix_ms: int) -> str:
    """Return Unix milliseconds as ISO 8601 in UTC with milliseconds and ``Z``."""
    return iso_utc(datetime.fromtimestamp(unix_ms / 1000, tz=UTC))
