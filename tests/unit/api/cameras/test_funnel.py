"""A camera's usual number of vehicles per hour, which is None without enough data."""

import pytest

from api.cameras.funnel import usual
from common.records.counts import FrameCounts

HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS
NOW_MS = 100 * WEEK_MS


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ([20, 30, 40, 50], 35),
        ([20, 30, 40], 30),
        # The camera was enabled, but one of the weeks had no pass.
        ([0, 30, 40, 50], 30),
        ([30, 40], None),
        ([10, 20, 10, 20], None),
        ([], None),
    ],
)
def test_an_hour_is_compared_with_the_weeks_before(
    reported: list[int], expected: int | None
) -> None:
    counts = {
        NOW_MS - week * WEEK_MS: FrameCounts(reported=number)
        for week, number in enumerate(reported, 1)
    }
    elsewhere = {NOW_MS - HOUR_MS: FrameCounts(reported=900), NOW_MS: FrameCounts(reported=1)}

    assert usual({**counts, **elsewhere}, NOW_MS) == expected
