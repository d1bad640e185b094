"""Evaluates the schedule of an alert, a window of local time."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from common.errors import InvalidInputError
from common.records.alerts import AlertSchedule, Weekday

_DAYS = tuple(Weekday)
_DAY_MINUTES = 24 * 60


@dataclass(frozen=True)
class Window:
    """A schedule prepared for evaluation. Minutes count from local midnight, both ends inclusive.

    A window follows the local clock: an hour skipped by a clock change is never in the window, and
    an hour that occurs twice is in the window twice.
    """

    zone: ZoneInfo
    start_minute: int
    end_minute: int
    days: frozenset[int]

    def is_open(self, at_ms: int) -> bool:
        """Return whether a time (Unix ms, UTC) is within the window."""
        day, minute = _local(self.zone, at_ms // 1000)
        if self.start_minute == self.end_minute:
            return day in self.days
        if self.start_minute < self.end_minute:
            return day in self.days and self.start_minute <= minute <= self.end_minute
        # An overnight window belongs to the day on which it starts.
        is_evening = minute >= self.start_minute and day in self.days
        return is_evening or (minute <= self.end_minute and (day - 1) % 7 in self.days)


def window(schedule: AlertSchedule, timezone: str) -> Window:
    """Return a schedule prepared for evaluation.

    Raises:
        InvalidInputError: the time zone or a time is invalid.
    """
    try:
        zone = ZoneInfo(timezone)
        start, end = _minute(schedule.start_time), _minute(schedule.end_time)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInputError(f"invalid schedule: {error}", code="unusable_schedule") from error
    days = frozenset(_DAYS.index(day) for day in schedule.days_of_week or _DAYS)
    return Window(zone, start, end, days)


def _minute(text: str) -> int:
    hours, _, minutes = text.partition(":")
    minute = int(hours) * 60 + int(minutes)
    if not 0 <= minute < _DAY_MINUTES:
        raise ValueError(f"not a valid time of day: {text!r}")
    return minute


# The result is cached, because thousands of rules evaluate the same time in a few zones.
@lru_cache(maxsize=4096)
def _local(zone: ZoneInfo, second: int) -> tuple[int, int]:
    """Return the weekday (0 is Monday) and the minute of the day of a Unix time in seconds."""
    moment = datetime.fromtimestamp(second, zone)
    return moment.weekday(), moment.hour * 60 + moment.minute
