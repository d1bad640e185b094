"""From counts by the quarter of an hour to days and hours of a time zone. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from analytics_sql.analytics import CameraCount, QuarterCount
from api.analytics.models import DayCount, HourCount

SPAN_MS = 30 * 24 * 3_600_000
"""Thirty times 24 hours, whatever the clocks did meanwhile."""

_MOST_DAYS = 31
_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def daily_chart(
    quarters: Sequence[QuarterCount], now_ms: int, zone: ZoneInfo
) -> tuple[DayCount, ...]:
    """Return each calendar day that the span up to ``now_ms`` touches, oldest first: 30 or 31.

    Days without recognitions are there with 0. Where the clocks went forward within the span, it
    may begin in the last hour of a 32nd day: that hour is left out.
    """
    by_day: Counter[date] = Counter()
    for quarter in quarters:
        by_day[_local(quarter.start_ms, zone).date()] += quarter.recognitions
    last = _local(now_ms - 1, zone).date()
    first = max(_local(now_ms - SPAN_MS, zone).date(), last - (_MOST_DAYS - 1) * _DAY)
    days = [first + number * _DAY for number in range((last - first).days + 1)]
    return tuple(DayCount(day, by_day[day]) for day in days)


def hourly_chart(quarters: Sequence[QuarterCount], zone: ZoneInfo) -> tuple[HourCount, ...]:
    """Return the 24 hours of the clock, 0 first.

    An hour that came twice on a day of 25 hours counts both times; one that was skipped adds none.
    """
    by_hour: Counter[int] = Counter()
    for quarter in quarters:
        by_hour[_local(quarter.start_ms, zone).hour] += quarter.recognitions
    return tuple(HourCount(hour, by_hour[hour]) for hour in range(24))


def camera_chart(
    cameras: Sequence[CameraCount], names: Mapping[UUID, str]
) -> tuple[CameraCount, ...]:
    """Return the cameras under the names they bear now; a deleted one keeps its last."""
    return tuple(
        replace(camera, camera_name=names.get(camera.camera_id, camera.camera_name))
        for camera in cameras
    )


def _local(at_ms: int, zone: ZoneInfo) -> datetime:
    return (_EPOCH + timedelta(milliseconds=at_ms)).astimezone(zone)
