"""Date-times as clients write them, and as Unix milliseconds."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_DATE_TIME = re.compile(r"\d{4}-?\d\d-?\d\d[Tt ]\d\d", re.ASCII)


def moment_ms(value: Any) -> int:
    """Return an ISO 8601 date-time as the first Unix millisecond that is not before it.

    Without an offset it is read as UTC.

    Raises:
        ValueError: not an ISO 8601 date-time.
    """
    text = str(value)
    if not _DATE_TIME.match(text):
        raise ValueError("must be an ISO 8601 date-time, for example 2026-11-21T08:00:00Z")
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise ValueError(
            "must be an ISO 8601 date-time, for example 2026-11-21T08:00:00Z (+ is written %2B)"
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return -((_EPOCH - moment) // _MILLISECOND)


def from_unix_ms(unix_ms: int) -> datetime:
    """Return the moment (UTC) of a Unix millisecond.

    Raises:
        OverflowError: it is not within the years 1 to 9999.
    """
    return _EPOCH + unix_ms * _MILLISECOND


def from_unix_ms_if_any(unix_ms: int | None) -> datetime | None:
    """Return the moment (UTC) of a Unix millisecond; None for None."""
    return None if unix_ms is None else from_unix_ms(unix_ms)


def to_unix_ms(moment: datetime) -> int:
    """Return the Unix millisecond nearest to a moment."""
    return round((moment - _EPOCH) / _MILLISECOND)


def _instant(value: Any) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be a string with an ISO 8601 date-time")
    try:
        return from_unix_ms(moment_ms(value))
    except OverflowError as error:
        raise ValueError("must be within the years 1 to 9999") from error


Moment = Annotated[
    int, PlainValidator(moment_ms), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""A query parameter: ISO 8601 date-time; Unix ms inside."""

Instant = Annotated[
    datetime, PlainValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""A body field: ISO 8601 date-time; UTC inside."""
