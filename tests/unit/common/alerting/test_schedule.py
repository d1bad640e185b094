"""Windows of local time compared with a slow, simple model."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.alerting.schedule import window
from common.errors import InvalidInputError
from common.records.alerts import AlertSchedule, Weekday

_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ZONES = sorted(available_timezones() - {"localtime"})
_YEAR = 2026
_times = st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda at: f"{at[0]:02}:{at[1]:02}")
_schedules = st.builds(
    AlertSchedule,
    start_time=_times,
    end_time=_times,
    days_of_week=st.lists(st.sampled_from(Weekday), max_size=4, unique=True).map(tuple),
)


def _is_open(schedule: AlertSchedule, timezone: str, at: datetime) -> bool:
    """Return whether the schedule is open, by comparing the local time and weekday."""
    wall = at.astimezone(ZoneInfo(timezone))
    clock, today = wall.strftime("%H:%M"), wall.date()
    days = [day.value for day in schedule.days_of_week] or list(_NAMES)
    is_ours = _NAMES[today.weekday()] in days
    was_ours = _NAMES[(today - timedelta(days=1)).weekday()] in days
    start, end = schedule.start_time, schedule.end_time
    if start == end:
        return is_ours
    if start < end:
        return is_ours and start <= clock <= end
    return (is_ours and clock >= start) or (was_ours and clock <= end)


def _changes(timezone: str) -> Iterator[datetime]:
    """Yield the hours of a year in which a zone changes its offset."""
    zone = ZoneInfo(timezone)
    for fortnight in range(26):
        at = datetime(_YEAR, 1, 1, tzinfo=UTC) + timedelta(days=14 * fortnight)
        later = at + timedelta(days=14)
        if at.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset():
            yield _hour_of_change(zone, at)


def _hour_of_change(zone: ZoneInfo, day: datetime) -> datetime:
    before = day.astimezone(zone).utcoffset()
    hours = (day + timedelta(hours=number) for number in range(24 * 14 + 1))
    return next(hour for hour in hours if hour.astimezone(zone).utcoffset() != before)


_CHANGES = [(name, change) for name in _ZONES for change in _changes(name)]


def test_there_are_changes_to_look_at() -> None:
    assert len(_CHANGES) > 250
    assert {"Europe/Lisbon", "America/New_York", "Australia/Lord_Howe"} < {
        name for name, _ in _CHANGES
    }


_AROUND = (*range(-180, 181, 15), -1439, 1439)
_HARD = (
    AlertSchedule(start_time="02:15", end_time="02:45"),
    AlertSchedule(start_time="23:30", end_time="02:30", days_of_week=(Weekday.SAT, Weekday.SUN)),
    AlertSchedule(start_time="00:00", end_time="00:00", days_of_week=(Weekday.SUN,)),
)


@pytest.mark.parametrize("schedule", _HARD, ids=lambda schedule: str(schedule.start_time))
def test_every_zone_is_right_at_every_clock_change(schedule: AlertSchedule) -> None:
    for timezone, change in _CHANGES:
        made = window(schedule, timezone)
        for minutes in _AROUND:
            at = change + timedelta(minutes=minutes)
            expected = _is_open(schedule, timezone, at)
            assert made.is_open(_ms(at)) == expected, (timezone, at)


@given(_schedules, st.sampled_from(_CHANGES), st.integers(-100_000, 100_000))
def test_any_schedule_is_right_near_a_clock_change(
    schedule: AlertSchedule, place: tuple[str, datetime], seconds: int
) -> None:
    timezone, change = place
    at = change + timedelta(seconds=seconds)
    assert window(schedule, timezone).is_open(_ms(at)) == _is_open(schedule, timezone, at)


@given(_schedules, st.sampled_from(_ZONES), st.integers(1_600_000_000, 2_000_000_000))
def test_any_schedule_is_right_in_any_zone(
    schedule: AlertSchedule, timezone: str, second: int
) -> None:
    at = datetime.fromtimestamp(second, UTC)
    assert window(schedule, timezone).is_open(_ms(at)) == _is_open(schedule, timezone, at)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2026-11-20T22:00:00Z", True),
        ("2026-11-20T21:59:59.999Z", False),
        ("2026-11-21T06:00:59.999Z", True),
        ("2026-11-21T06:01:00Z", False),
        ("2026-11-20T03:00:00Z", False),
        ("2026-11-22T03:00:00Z", False),
    ],
)
def test_an_overnight_window_belongs_to_the_day_of_its_start(at: str, expected: bool) -> None:
    friday = AlertSchedule(start_time="22:00", end_time="06:00", days_of_week=(Weekday.FRI,))
    assert window(friday, "UTC").is_open(_ms(datetime.fromisoformat(at))) == expected


def test_the_default_window_has_no_hole_before_midnight() -> None:
    made = window(AlertSchedule(), "UTC")
    assert made.is_open(_ms(datetime(2026, 1, 1, 23, 59, 59, 999_000, tzinfo=UTC)))


@pytest.mark.parametrize(
    ("schedule", "timezone"),
    [
        (AlertSchedule(), "Mars/Olympus"),
        (AlertSchedule(), "../etc/passwd"),
        (AlertSchedule(start_time="24:00"), "UTC"),
        (AlertSchedule(end_time="noon"), "UTC"),
    ],
)
def test_what_is_no_schedule_is_refused(schedule: AlertSchedule, timezone: str) -> None:
    with pytest.raises(InvalidInputError):
        window(schedule, timezone)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
