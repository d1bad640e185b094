"""Converts times: Unix milliseconds (UTC) internally, ISO 8601 for clients and people."""

import time
from datetime import UTC, datetime
from functools import lru_cache


def now_ms() -> int:
    """Return the current time as Unix milliseconds."""
    return time.time_ns() // 1_000_000


def iso_utc(moment: datetime) -> str:
    """Return a time as ISO 8601 in UTC with milliseconds and ``Z``."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def format_timestamp(unix_ms: int) -> str:
    """Return Unix milliseconds as ISO 8601 in UTC with milliseconds and ``Z``."""
    seconds, ms = divmod(unix_ms, 1000)
    return f"{_whole_second(seconds)}.{ms:03}Z"


@lru_cache(maxsize=4096)
def _whole_second(unix_seconds: int) -> str:
    """Return a second as text. Cached, because the rows of a list repeat the same seconds."""
    return datetime.fromtimestamp(unix_seconds, tz=UTC).isoformat()[:19]
