"""Calculates the analytics of an account's last 30 days."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from analytics_sql.recognitions import RecognitionFilter, RecognitionPage
from analytics_sql.traffic.analytics import CameraCount, OwnerSpan, QuarterCount, Traffic
from api.accounts.repository import require_owner
from api.adapters.clickhouse import ClickHouseStore
from api.analytics.schemas import (
    AnalyticsBody,
    AnalyticsStats,
    CameraEntry,
    DailyEntry,
    HourlyEntry,
    PlateEntry,
)
from api.db.database import Database
from api.db.tables import ApiKey, Camera
from api.recognitions.schemas import recognition_body
from api.validation.fields import from_unix_ms
from common.records.ids import NIL_UUID
from common.timestamps import format_timestamp

SPAN_MS = 30 * 24 * 3_600_000
"""30 × 24 hours, regardless of clock changes."""
_MAX_DAYS = 31
_DAY = timedelta(days=1)
WallHours = Mapping[tuple[date, int], int]
"""Numbers of recognitions by day and hour, in local time."""
_TOP_PLATES = 10
_RECENT = 10


@dataclass(frozen=True)
class Inventory:
    """An account's resources. ``camera_names`` is keyed by ID. ``timezone`` is an IANA name."""

    timezone: str
    camera_names: Mapping[UUID, str]
    active_cameras: int
    active_api_keys: int


def inventory(session: Session, owner_id: UUID, now: datetime) -> Inventory:
    """Return an account's time zone and cameras, and the numbers of active cameras and API keys.

    Raises:
        OwnerNotFoundError: the account has been deleted.
    """
    cameras = session.execute(
        select(Camera.id, Camera.name, Camera.enabled).where(
            Camera.owner_id == owner_id, Camera.confirmed
        )
    ).all()
    unexpired = or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > now)
    keys = (
        select(func.count())
        .select_from(ApiKey)
        .where(ApiKey.owner_id == owner_id, ApiKey.enabled, unexpired)
    )
    return Inventory(
        timezone=require_owner(session, owner_id).timezone,
        camera_names={camera.id: camera.name for camera in cameras},
        active_cameras=sum(camera.enabled for camera in cameras),
        active_api_keys=session.scalar(keys) or 0,
    )


def wall_hours(quarters: Sequence[QuarterCount], zone: ZoneInfo) -> WallHours:
    """Return the counts of quarter hours, summed by local hour. Omit hours without recognitions.

    On a 25-hour day, the repeated hour contains the sum of both hours. A skipped hour is missing.
    """
    counts: Counter[tuple[date, int]] = Counter()
    for quarter in quarters:
        local = _local(quarter.start_ms, zone)
        counts[local.date(), local.hour] += quarter.recognitions
    return counts


def daily_chart(counts: WallHours, now_ms: int, zone: ZoneInfo) -> tuple[DailyEntry, ...]:
    """Return the counts of the 30 or 31 days in the 30 × 24 hours up to ``now_ms``, oldest first.

    Days without recognitions have count 0. If the clocks went forward in this period, the period
    can start in the last hour of a 32nd day. That hour is left out.
    """
    by_day: Counter[date] = Counter()
    for (day, _), count in counts.items():
        by_day[day] += count
    last = _local(now_ms - 1, zone).date()
    first = max(_local(now_ms - SPAN_MS, zone).date(), last - (_MAX_DAYS - 1) * _DAY)
    days = [first + number * _DAY for number in range((last - first).days + 1)]
    return tuple(DailyEntry(date=day, count=by_day[day]) for day in days)


def hourly_chart(counts: WallHours) -> tuple[HourlyEntry, ...]:
    """Return the counts of the 24 hours of the day, starting at 0."""
    by_hour: Counter[int] = Counter()
    for (_, hour), count in counts.items():
        by_hour[hour] += count
    return tuple(HourlyEntry(hour=hour, count=by_hour[hour]) for hour in range(24))


def heat_map(counts: WallHours) -> tuple[tuple[int, ...], ...]:
    """Return the counts of each weekday (Monday first) by hour of the day, starting at 0."""
    found = [[0] * 24 for _ in range(7)]
    for (day, hour), count in counts.items():
        found[day.weekday()][hour] += count
    return tuple(map(tuple, found))


def camera_chart(
    cameras: Sequence[CameraCount], names: Mapping[UUID, str]
) -> tuple[CameraEntry, ...]:
    """Return the cameras with their current names. A deleted camera keeps its last known name."""
    return tuple(
        CameraEntry(
            camera_id=str(camera.camera_id),
            camera_name=names.get(camera.camera_id, camera.camera_name),
            count=camera.recognitions,
        )
        for camera in cameras
    )


def success_percent(accepted: int, total: int) -> float:
    """Return 100 × ``accepted`` ÷ ``total`` (0 to 100), or 0 if ``total`` is 0."""
    return 100 * accepted / total if total else 0.0


def _local(at_ms: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(at_ms // 1000, zone)


class Analytics:
    """Calculates the analytics of accounts."""

    def __init__(
        self, database: Database, store: ClickHouseStore, now_ms: Callable[[], int]
    ) -> None:
        """``now_ms`` returns the current time (Unix ms)."""
        self._database = database
        self._store = store
        self._now_ms = now_ms

    async def get_overview(self, owner_id: UUID) -> AnalyticsBody:
        """Return the analytics of an account's last 30 × 24 hours.

        Raises:
            TransientError: PostgreSQL or ClickHouse is unavailable or too slow.
        """
        now_ms = self._now_ms()
        now = from_unix_ms(now_ms)
        owned = await self._database.run(lambda session: inventory(session, owner_id, now))
        span = OwnerSpan(owner_id, now_ms - SPAN_MS, now_ms)
        newest = RecognitionFilter(owner_id, from_ms=span.from_ms, to_ms=span.to_ms)
        traffic, page = await asyncio.gather(
            self._store.traffic(span, plates=_TOP_PLATES), self._store.page(newest, None, _RECENT)
        )
        return _overview(owned, traffic, page, now_ms)


def _overview(
    owned: Inventory, traffic: Traffic, page: RecognitionPage, now_ms: int
) -> AnalyticsBody:
    zone = ZoneInfo(owned.timezone)
    hours = wall_hours(traffic.quarters, zone)
    return AnalyticsBody(
        stats=AnalyticsStats(
            total30d=sum(quarter.recognitions for quarter in traffic.quarters),
            active_cameras=owned.active_cameras,
            active_api_keys=owned.active_api_keys,
            success_rate=_success_rate(traffic),
        ),
        daily_chart=daily_chart(hours, now_ms, zone),
        hourly_chart=hourly_chart(hours),
        heat_map=heat_map(hours),
        top_plates=tuple(
            PlateEntry(
                plate=each.plate,
                count=each.recognitions,
                last_seen_at=format_timestamp(each.last_ms),
            )
            for each in traffic.plates
        ),
        camera_chart=camera_chart(traffic.cameras, owned.camera_names),
        recent=tuple(
            recognition_body(each, photo_url=each.photo_key, crop_url=each.crop_key)
            for each in page.rows
        ),
    )


def _success_rate(traffic: Traffic) -> float:
    """Return the percentage of passes and image calls with an accepted reading.

    An accepted pass is a recognition by a camera. An image call counts once, regardless of how many
    plates were found and whether the result was stored.
    """
    passes = sum(one.recognitions for one in traffic.cameras if one.camera_id != NIL_UUID)
    accepted = passes + traffic.outcomes.accepted
    return success_percent(accepted, accepted + traffic.outcomes.refused)
