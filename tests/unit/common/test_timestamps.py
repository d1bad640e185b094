"""Format of timestamps, equal for date-times of any offset and for Unix milliseconds."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.timestamps import format_timestamp, iso_utc


@given(st.integers(min_value=0, max_value=4_102_444_800_000))
def test_a_timestamp_has_its_millisecond(unix_ms: int) -> None:
    text = format_timestamp(unix_ms)

    assert text.endswith("Z")
    assert len(text) == len("2026-11-21T08:00:00.000Z")
    assert round(datetime.fromisoformat(text).timestamp() * 1000) == unix_ms


@pytest.mark.parametrize("offset_hours", [-11, 0, 5.5])
def test_a_timestamp_is_written_in_utc_whatever_its_offset(offset_hours: float) -> None:
    at = datetime(2026, 11, 21, 8, 0, 0, 123_999, tzinfo=UTC)
    there = at.astimezone(timezone(timedelta(hours=offset_hours)))

    assert iso_utc(there) == "2026-11-21T08:00:00.123Z"
