"""Date-times in query parameters, and time ranges that can be stored."""

from uuid import UUID

import pytest

from analytics_sql.recognitions import RecognitionFilter
from api.recognitions.service import storable
from api.validation.fields import instant_ms

OWNER = UUID(int=1)


@pytest.mark.parametrize(
    ("text", "unix_ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00z", 0),
        ("1970-01-01T00:00:00", 0),
        ("1970-01-01 00:00:01+00:00", 1000),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1970-01-01T00:00:00.0010001Z", 1),
        # A time between two milliseconds is rounded up.
        ("1970-01-01T00:00:00.0011Z", 2),
        ("1969-12-31T23:59:59.9989Z", -1),
        ("0001-01-01T00:00:00+14:00", -62_135_647_200_000),
        ("9999-12-31T23:59:59-12:00", 253_402_343_999_000),
    ],
)
def test_date_times_are_read(text: str, unix_ms: int) -> None:
    assert instant_ms(text) == unix_ms


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-11-21", "1790000000", "2026-13-01T00:00:00Z", "2026-11-21T08:00 01:00"],
)
def test_what_is_no_date_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="ISO 8601"):
        instant_ms(text)


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "expected"),
    [
        (None, None, (None, None)),
        (5, 9, (5, 9)),
        (-5, 9, (None, 9)),
        (5, 10**15, (5, None)),
        (9, 9, None),
        (9, 5, None),
        (None, 0, None),
        (10**15, None, None),
    ],
)
def test_spans_are_checked(
    from_ms: int | None, to_ms: int | None, expected: tuple[int | None, int | None] | None
) -> None:
    wanted = storable(RecognitionFilter(user_id=OWNER, from_ms=from_ms, to_ms=to_ms))

    assert (None if wanted is None else (wanted.from_ms, wanted.to_ms)) == expected
