"""Days and hours in the account's time zone, compared with counting each recognition."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics_sql.traffic.analytics import QUARTER_MS, CameraCount, QuarterCount
from api.analytics.schemas import CameraEntry
from api.analytics.service import (
    SPAN_MS,
    camera_chart,
    daily_chart,
    heat_map,
    hourly_chart,
    success_percent,
    wall_hours,
)

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
ZONES = [
    "UTC",
    "Europe/Lisbon",
    "America/New_York",
    "America/St_Johns",
    # In these zones, the clocks change at midnight.
    "America/Santiago",
    "Africa/Cairo",
    # These zones have half an hour of summer time, or offsets in quarters of an hour.
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Pacific/Kiritimati",
]
zones = st.sampled_from(ZONES).map(ZoneInfo)
timestamps = st.integers(_start := 1_704_067_200_000, _start + 6 * 366 * DAY_MS)


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def _quarters(rows_ms: list[int]) -> list[QuarterCount]:
    counts = Counter(row_ms // QUARTER_MS for row_ms in rows_ms)
    return [QuarterCount(quarter * QUARTER_MS, count) for quarter, count in counts.items()]


def _local(at_ms: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, zone)


def _days_of_every_minute(now_ms: int, zone: ZoneInfo) -> list[date]:
    """Return the dates that a wall clock showed every five minutes; at most the last 31 dates."""
    shown = {_local(at, zone).date() for at in range(now_ms - SPAN_MS, now_ms, 5 * MINUTE_MS)}
    shown.add(_local(now_ms - 1, zone).date())
    return sorted(shown)[-31:]


@given(now_ms=timestamps, zone=zones, ages_ms=st.lists(st.integers(1, SPAN_MS), max_size=60))
@settings(max_examples=60)
def test_charts_equal_a_count_of_each_recognition(
    now_ms: int, zone: ZoneInfo, ages_ms: list[int]
) -> None:
    rows_ms = [now_ms - age for age in ages_ms]
    by_day = Counter(_local(row_ms, zone).date() for row_ms in rows_ms)
    by_hour = Counter(_local(row_ms, zone).hour for row_ms in rows_ms)

    counts = wall_hours(_quarters(rows_ms), zone)
    days = daily_chart(counts, now_ms, zone)
    hours = hourly_chart(counts)
    weekdays = heat_map(counts)

    assert [(entry.date, entry.count) for entry in days] == [
        (day, by_day[day]) for day in _days_of_every_minute(now_ms, zone)
    ]
    assert [(entry.hour, entry.count) for entry in hours] == [
        (hour, by_hour[hour]) for hour in range(24)
    ]
    locals_ = [_local(row_ms, zone) for row_ms in rows_ms]
    by_both = Counter((at.weekday(), at.hour) for at in locals_)
    assert weekdays == tuple(tuple(by_both[day, hour] for hour in range(24)) for day in range(7))


@given(now_ms=timestamps, zone=zones)
@settings(max_examples=300)
def test_thirty_or_thirty_one_days_without_a_gap(now_ms: int, zone: ZoneInfo) -> None:
    days = [entry.date for entry in daily_chart({}, now_ms, zone)]

    assert len(days) in (30, 31)
    assert days == [days[0] + timedelta(days=number) for number in range(len(days))]
    assert days[-1] == _local(now_ms - 1, zone).date()


def _each_minute(first: str, hours: int) -> list[QuarterCount]:
    start_ms = _ms(first)
    return _quarters([start_ms + number * MINUTE_MS for number in range(hours * 60)])


@pytest.mark.parametrize(
    ("zone", "day", "before_utc", "minutes", "twice", "never"),
    [
        ("Europe/Lisbon", "2026-03-29", "2026-03-28T00:00Z", 23 * 60, None, 1),
        ("Europe/Lisbon", "2026-10-25", "2026-10-23T23:00Z", 25 * 60, 1, None),
        ("America/New_York", "2026-03-08", "2026-03-07T05:00Z", 23 * 60, None, 2),
        ("America/New_York", "2026-11-01", "2026-10-31T04:00Z", 25 * 60, 1, None),
        ("America/Santiago", "2026-09-06", "2026-09-05T04:00Z", 23 * 60, None, 0),
        ("Australia/Lord_Howe", "2026-10-04", "2026-10-02T13:30Z", 23 * 60 + 30, None, None),
        ("Europe/Lisbon", "2026-06-10", "2026-06-08T23:00Z", 24 * 60, None, None),
    ],
)
def test_days_are_as_long_as_they_were(
    zone: str, day: str, before_utc: str, minutes: int, twice: int | None, never: int | None
) -> None:
    """With a recognition in each minute, a day's count is the number of its minutes."""
    quarters = _each_minute(before_utc, 72)
    now_ms = _ms(before_utc) + 3 * DAY_MS
    wall = ZoneInfo(zone)

    by_day = {
        str(entry.date): entry.count
        for entry in daily_chart(wall_hours(quarters, wall), now_ms, wall)
    }
    of_the_day = [q for q in quarters if str(_local(q.start_ms, wall).date()) == day]
    by_hour = [entry.count for entry in hourly_chart(wall_hours(of_the_day, wall))]

    assert by_day[day] == sum(by_hour) == minutes
    assert [hour for hour, count in enumerate(by_hour) if count == 120] == (
        [] if twice is None else [twice]
    )
    assert [hour for hour, count in enumerate(by_hour) if count == 0] == (
        [] if never is None else [never]
    )


def test_an_hour_of_a_32nd_day_is_left_out() -> None:
    zone = ZoneInfo("Europe/Lisbon")
    now_ms = _ms("2026-04-10T00:30+01:00")
    sliver = _quarters([now_ms - SPAN_MS + 1, now_ms - SPAN_MS + HOUR_MS])

    days = daily_chart(wall_hours(sliver, zone), now_ms, zone)

    assert (len(days), str(days[0].date), days[0].count) == (31, "2026-03-11", 1)
    assert sum(day.count for day in days) == 1


def test_at_midnight_the_day_that_begins_is_not_there_yet() -> None:
    days = daily_chart({}, _ms("2026-07-31T00:00Z"), ZoneInfo("UTC"))

    assert [str(days[0].date), str(days[-1].date)] == ["2026-07-01", "2026-07-30"]


def test_every_zone_is_quarters_of_an_hour_from_utc() -> None:
    first = datetime(2020, 1, 1, tzinfo=UTC)
    months = [first + timedelta(days=30 * number) for number in range(200)]
    odd = {
        name
        for name in available_timezones()
        for month in months
        if (month.astimezone(ZoneInfo(name)).utcoffset() or timedelta()) % timedelta(minutes=15)
    }

    assert odd == set()


def test_cameras_bear_their_present_names() -> None:
    here, gone = UUID(int=1), UUID(int=2)
    counted = [CameraCount(here, "Old name", 5), CameraCount(gone, "Deleted", 2)]

    assert camera_chart(counted, {here: "New name", UUID(int=3): "Silent"}) == (
        CameraEntry(camera_id=str(here), camera_name="New name", count=5),
        CameraEntry(camera_id=str(gone), camera_name="Deleted", count=2),
    )


@pytest.mark.parametrize(
    ("accepted", "seen", "percent"), [(0, 0, 0), (0, 7, 0), (3, 4, 75), (9, 9, 100)]
)
def test_the_success_rate_is_the_share_of_accepted_passes(
    accepted: int, seen: int, percent: float
) -> None:
    assert success_percent(accepted, seen) == percent
