"""Spans of time that the store can hold."""

from dataclasses import replace

from analytics_sql.recognitions import RecognitionFilter
from analytics_sql.rows import LAST_STORABLE_MS


def storable(wanted: RecognitionFilter) -> RecognitionFilter | None:
    """Return ``wanted`` with its span cut to what can be stored; None where nothing can match.

    Any date-time of ISO 8601 may be asked for, the years 1 and 9999 included.
    """
    start = max(wanted.from_ms or 0, 0)
    end = LAST_STORABLE_MS if wanted.to_ms is None else min(wanted.to_ms, LAST_STORABLE_MS)
    if start >= end:
        return None
    return replace(wanted, from_ms=start or None, to_ms=None if end == LAST_STORABLE_MS else end)
