"""The hourly check for cameras that report less than half of their usual number of vehicles."""

from collections.abc import Sequence
from uuid import UUID

from analytics_sql.traffic.camera_counts import ReportedHour
from api.adapters.clickhouse import ClickHouseStore
from api.cameras.funnel import LowActivityCameras

HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS
START_MS = 500_000 * HOUR_MS
QUIET, QUIETER, USUAL, SILENT, FEW = (UUID(int=number) for number in range(1, 6))


class Hours(ClickHouseStore):
    """Reports of cameras in the last full hour, and in the same hour of the previous four weeks."""

    def __init__(self, counts: dict[UUID, tuple[int | None, int]]) -> None:
        self.counts = counts
        self.asked: list[list[int]] = []

    async def reported_hours(self, hours_ms: Sequence[int], /) -> tuple[ReportedHour, ...]:
        self.asked.append(list(hours_ms))
        now_ms, *before = hours_ms
        return tuple(
            ReportedHour(camera_id, start_ms, reported)
            for camera_id, (last, usual) in self.counts.items()
            for start_ms, reported in ((now_ms, last), *((each, usual) for each in before))
            if reported is not None
        )


def _shown(cameras: LowActivityCameras) -> dict[str, float]:
    return {
        sample.labels["camera"]: sample.value
        for family in cameras.collect()
        for sample in family.samples
    }


async def test_less_than_half_of_the_usual_is_reported_until_it_is_over() -> None:
    now_ms = START_MS + HOUR_MS + 6 * 60_000
    hours = Hours(
        {QUIET: (12, 40), QUIETER: (0, 40), USUAL: (20, 40), SILENT: (None, 40), FEW: (0, 19)}
    )
    cameras = LowActivityCameras(hours, lambda: now_ms, max_cameras=10)
    assert _shown(cameras) == {}
    await cameras.sweep()
    assert _shown(cameras) == {str(QUIETER): 0, str(QUIET): 0.3}
    assert hours.asked == [[START_MS - week * WEEK_MS for week in range(5)]]

    now_ms += 58 * 60_000
    await cameras.sweep()
    assert len(hours.asked) == 1
    hours.counts[QUIET] = hours.counts[QUIETER] = (40, 40)
    now_ms += 60_000
    await cameras.sweep()
    assert _shown(cameras) == {}
    assert hours.asked[1][0] == START_MS + HOUR_MS


async def test_beyond_the_bound_they_share_one() -> None:
    hours = Hours({QUIET: (12, 40), QUIETER: (0, 40)})
    for bound, shown in ((1, {str(QUIETER): 0, "other": 0.3}), (0, {"other": 0})):
        cameras = LowActivityCameras(hours, lambda: START_MS, max_cameras=bound)
        await cameras.sweep()
        assert _shown(cameras) == shown
