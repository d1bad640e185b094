"""The cameras that report less than half of their usual hour, for the metrics."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol
from uuid import UUID

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from analytics_sql.traffic.camera_counts import ReportedHour
from api.cameras.funnel import HOUR_MS, WEEK_MS, WEEKS, HourStore, usual
from common.metric_catalogue import described
from common.metrics import OTHER_CAMERAS
from common.records.counts import FrameCounts

_LATE_MS: Final = 5 * 60_000
"""The last minutes of an hour are stored by then."""
_QUIET_RATIO: Final = 0.5


class CameraHourStore(HourStore, Protocol):
    """The counts of cameras in ClickHouse, those of all owners too."""

    async def reported_hours(self, hours_ms: Sequence[int], /) -> tuple[ReportedHour, ...]:
        """Return what the cameras of all owners reported in hours that begin then."""


class QuietCameras(Collector):
    """Looks once an hour at the last whole one. A camera that is silent altogether is offline."""

    def __init__(
        self, hours: CameraHourStore, now_ms: Callable[[], int], *, max_cameras: int
    ) -> None:
        """``now_ms`` is the wall clock, Unix ms; beyond ``max_cameras`` they share a label."""
        self._hours = hours
        self._now_ms = now_ms
        self._max_cameras = max_cameras
        self._due_ms = 0
        self._ratios: tuple[tuple[UUID, float], ...] = ()

    async def sweep(self) -> int:
        """Look at the last whole hour, unless that is done.

        Raises:
            TransientError: ClickHouse is unavailable or busy.
        """
        now_ms = self._now_ms()
        if now_ms >= self._due_ms:
            past_ms = now_ms - _LATE_MS
            start_ms = past_ms - past_ms % HOUR_MS - HOUR_MS
            self._ratios = await self._quiet_in(start_ms)
            self._due_ms = start_ms + 2 * HOUR_MS + _LATE_MS
        return 0

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the gauge of the quietest cameras, each by its id, and of the others."""
        metric = described("platestream_api_camera_usual_ratio")
        family = GaugeMetricFamily(metric.name, metric.rise, labels=metric.labels)
        own, others = self._ratios[: self._max_cameras], self._ratios[self._max_cameras :]
        for camera_id, ratio in own:
            family.add_metric((str(camera_id),), ratio)
        if others:
            family.add_metric((OTHER_CAMERAS,), others[0][1])
        yield family

    async def _quiet_in(self, start_ms: int) -> tuple[tuple[UUID, float], ...]:
        """Return the cameras that were quiet in an hour with their shares, the quietest first."""
        wanted = [start_ms - week * WEEK_MS for week in range(WEEKS + 1)]
        cameras: defaultdict[UUID, dict[int, FrameCounts]] = defaultdict(dict)
        for hour in await self._hours.reported_hours(wanted):
            cameras[hour.camera_id][hour.start_ms] = FrameCounts(reported=hour.reported)
        ratios = (
            (camera_id, hours[start_ms].reported / mean)
            for camera_id, hours in cameras.items()
            if start_ms in hours and (mean := usual(hours, start_ms))
        )
        quiet = (each for each in ratios if each[1] < _QUIET_RATIO)
        return tuple(sorted(quiet, key=lambda each: each[1]))
