"""How far a camera's frames and vehicles came, and whether that is less than usual."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from analytics_sql.traffic.camera_counts import CameraHour, CameraSpan
from api.cameras.service import Cameras
from api.errors import ApiError, ErrorCode, FieldFault
from common.records.counts import FrameCounts

HOUR_MS: Final = 3_600_000
WEEK_MS: Final = 7 * 24 * HOUR_MS
WEEKS: Final = 4
_LEAST_WEEKS: Final = 3
_LEAST_USUAL: Final = 20
"""With fewer an hour the half of it is no sign: one in 200 quiet hours of twenty has as few."""

DEFAULT_HOURS: Final = 24
MAX_HOURS: Final = 7 * 24


class HourStore(Protocol):
    """The counts of cameras in ClickHouse."""

    async def camera_hours(self, span: CameraSpan, /) -> tuple[CameraHour, ...]:
        """Return a camera's hours in which anything was counted, oldest first."""


@dataclass(frozen=True)
class FunnelHour:
    """A camera's hour from ``start_ms`` (Unix ms, UTC) on.

    ``usual`` is how many vehicles it reports in that hour of the week; None: too few to say so.
    """

    start_ms: int
    counts: FrameCounts
    usual: int | None


class CameraFunnels:
    """The funnels of all cameras."""

    def __init__(self, cameras: Cameras, hours: HourStore, now_ms: Callable[[], int]) -> None:
        """``now_ms`` is the wall clock, Unix ms."""
        self._cameras = cameras
        self._hours = hours
        self._now_ms = now_ms

    async def of(
        self, owner_id: UUID, camera_id: UUID, from_ms: int | None, to_ms: int | None
    ) -> tuple[FunnelHour, ...]:
        """Return the hours that touch a span, oldest first; the last 24 without one.

        Raises:
            ApiError: 404; 400 where the span is none, or too long.
        """
        end_ms = self._now_ms() if to_ms is None else to_ms
        begin_ms = end_ms - DEFAULT_HOURS * HOUR_MS if from_ms is None else from_ms
        if not 0 < end_ms - begin_ms <= MAX_HOURS * HOUR_MS:
            fault = FieldFault("from", f"must be before to, by at most {MAX_HOURS} hours")
            raise ApiError(ErrorCode.INVALID_REQUEST, fields=(fault,))
        await self._cameras.require(owner_id, camera_id)
        begin_ms -= begin_ms % HOUR_MS
        earlier_ms = max(0, begin_ms - WEEKS * WEEK_MS)
        span = CameraSpan(owner_id, camera_id, earlier_ms, end_ms)
        counts = {hour.start_ms: hour.counts for hour in await self._hours.camera_hours(span)}
        return tuple(
            FunnelHour(start_ms, counts.get(start_ms, FrameCounts()), usual(counts, start_ms))
            for start_ms in range(begin_ms, end_ms, HOUR_MS)
        )


def usual(counts: Mapping[int, FrameCounts], start_ms: int) -> int | None:
    """Return how many vehicles were reported in the same hour of the four weeks before, on average.

    None: the camera was not there in three of them, or there are too few to miss any.
    """
    before = [counts.get(start_ms - week * WEEK_MS) for week in range(1, WEEKS + 1)]
    reported = [each.reported for each in before if each is not None]
    if len(reported) < _LEAST_WEEKS:
        return None
    mean = round(sum(reported) / len(reported))
    return mean if mean >= _LEAST_USUAL else None
