"""Reads hourly counts of frames and vehicles, and finds cameras with low activity."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from analytics_sql.traffic.camera_counts import CameraSpan
from api.adapters.clickhouse import ClickHouseStore
from api.errors import invalid_field
from common.metrics import METRICS, OTHER_CAMERAS
from common.records.counts import FrameCounts

HOUR_MS: Final = 3_600_000
WEEK_MS: Final = 7 * 24 * HOUR_MS
WEEKS: Final = 4
_MIN_WEEKS: Final = 3
_MIN_USUAL: Final = 20
"""With an average of 20 vehicles per hour, one normal hour in 200 has fewer than 10 by chance."""

DEFAULT_HOURS: Final = 24
MAX_HOURS: Final = 7 * 24

_LATE_MS: Final = 5 * 60_000
"""Time after the end of an hour until all its minutes are stored."""
_LOW_RATIO: Final = 0.5


@dataclass(frozen=True)
class FunnelHour:
    """A camera's counts for one hour, which starts at ``start_ms`` (Unix ms, UTC).

    ``usual`` is the typical number of vehicles in this hour of the week; None: too little data.
    """

    start_ms: int
    counts: FrameCounts
    usual: int | None


class CameraFunnels:
    """Reads hourly counts of cameras."""

    def __init__(self, store: ClickHouseStore, now_ms: Callable[[], int]) -> None:
        """``now_ms`` returns the current time (Unix ms)."""
        self._store = store
        self._now_ms = now_ms

    async def get_funnel(
        self, owner_id: UUID, camera_id: UUID, from_ms: int | None, to_ms: int | None
    ) -> tuple[FunnelHour, ...]:
        """Return a camera's hourly counts for a time range (by default 24 hours), oldest first.

        Raises:
            ApiError: 400, the time range is empty or too long.
        """
        end_ms = self._now_ms() if to_ms is None else to_ms
        begin_ms = end_ms - DEFAULT_HOURS * HOUR_MS if from_ms is None else from_ms
        if not 0 < end_ms - begin_ms <= MAX_HOURS * HOUR_MS:
            raise invalid_field("from", f"must be at most {MAX_HOURS} hours before `to`")
        begin_ms -= begin_ms % HOUR_MS
        earlier_ms = max(0, begin_ms - WEEKS * WEEK_MS)
        span = CameraSpan(owner_id, camera_id, earlier_ms, end_ms)
        counts = {hour.start_ms: hour.counts for hour in await self._store.camera_hours(span)}
        return tuple(
            FunnelHour(start_ms, counts.get(start_ms, FrameCounts()), usual(counts, start_ms))
            for start_ms in range(begin_ms, end_ms, HOUR_MS)
        )


def usual(counts: Mapping[int, FrameCounts], start_ms: int) -> int | None:
    """Return the average number of vehicles reported in the same hour of the previous four weeks.

    Return None if fewer than three of these hours have counts, or if the average is below 20.
    """
    before = [counts.get(start_ms - week * WEEK_MS) for week in range(1, WEEKS + 1)]
    reported = [each.reported for each in before if each is not None]
    if len(reported) < _MIN_WEEKS:
        return None
    mean = round(sum(reported) / len(reported))
    return mean if mean >= _MIN_USUAL else None


class LowActivityCameras(Collector):
    """Finds low-activity cameras once an hour. Offline cameras have no counts and are skipped."""

    def __init__(
        self, store: ClickHouseStore, now_ms: Callable[[], int], *, max_cameras: int
    ) -> None:
        """``now_ms`` returns Unix ms. Cameras beyond ``max_cameras`` share a label."""
        self._store = store
        self._now_ms = now_ms
        self._max_cameras = max_cameras
        self._due_ms = 0
        self._ratios: tuple[tuple[UUID, float], ...] = ()

    async def sweep(self) -> int:
        """Check the last full hour, unless it has already been checked. Always return 0.

        Raises:
            TransientError: ClickHouse is unavailable or busy.
        """
        now_ms = self._now_ms()
        if now_ms >= self._due_ms:
            past_ms = now_ms - _LATE_MS
            start_ms = past_ms - past_ms % HOUR_MS - HOUR_MS
            self._ratios = await self._low_activity(start_ms)
            self._due_ms = start_ms + 2 * HOUR_MS + _LATE_MS
        return 0

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield the ratios of the least active cameras, and the lowest ratio of the others."""
        metric = METRICS["platestream_api_camera_activity_ratio"]
        family = GaugeMetricFamily(metric.name, metric.rise, labels=metric.labels)
        own, others = self._ratios[: self._max_cameras], self._ratios[self._max_cameras :]
        for camera_id, ratio in own:
            family.add_metric((str(camera_id),), ratio)
        if others:
            family.add_metric((OTHER_CAMERAS,), others[0][1])
        yield family

    async def _low_activity(self, start_ms: int) -> tuple[tuple[UUID, float], ...]:
        """Return the cameras with low activity in an hour, with activity ratios, lowest first."""
        wanted = [start_ms - week * WEEK_MS for week in range(WEEKS + 1)]
        cameras: defaultdict[UUID, dict[int, FrameCounts]] = defaultdict(dict)
        for hour in await self._store.reported_hours(wanted):
            cameras[hour.camera_id][hour.start_ms] = FrameCounts(reported=hour.reported)
        ratios = (
            (camera_id, hours[start_ms].reported / mean)
            for camera_id, hours in cameras.items()
            if start_ms in hours and (mean := usual(hours, start_ms))
        )
        low = (each for each in ratios if each[1] < _LOW_RATIO)
        return tuple(sorted(low, key=lambda each: each[1]))
