"""What can be asked about an owner's last thirty days."""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID
from zoneinfo import ZoneInfo

from analytics_sql.analytics import OwnerSpan, Traffic
from analytics_sql.recognitions import RecognitionCursor, RecognitionFilter, RecognitionPage
from api.analytics.charts import SPAN_MS, camera_chart, daily_chart, hourly_chart
from api.analytics.models import Inventory, Overview, PassTally
from api.analytics.repository import inventory
from api.db.engine import Database
from api.moments import from_unix_ms
from contracts.ids import NIL_UUID

_TOP_PLATES = 10
_RECENT = 10


class TrafficStore(Protocol):
    """Where recognitions are counted and listed."""

    async def traffic(self, span: OwnerSpan, *, plates: int) -> Traffic:
        """Return the counts of a span, and at most so many ``plates``."""

    async def page(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
    ) -> RecognitionPage:
        """Return at most ``limit`` recognitions, newest first, from behind ``after``."""


class Analytics:
    """The thirty days of all owners; every call names the owner it acts for."""

    def __init__(self, database: Database, store: TrafficStore, now_ms: Callable[[], int]) -> None:
        """Take where owners and recognitions are, and the clock (Unix ms)."""
        self._database = database
        self._store = store
        self._now_ms = now_ms

    async def overview(self, owner_id: UUID) -> Overview:
        """Return the owner's last 30 × 24 hours up to now.

        Raises:
            TransientError: PostgreSQL or ClickHouse is away or too slow.
        """
        now_ms = self._now_ms()
        now = from_unix_ms(now_ms)
        owned = await self._database.run(lambda session: inventory(session, owner_id, now))
        span = OwnerSpan(owner_id, now_ms - SPAN_MS, now_ms)
        traffic = await self._store.traffic(span, plates=_TOP_PLATES)
        newest = RecognitionFilter(owner_id, from_ms=span.from_ms, to_ms=span.to_ms)
        page = await self._store.page(newest, None, _RECENT)
        return _overview(owned, traffic, page, now_ms)


def _overview(owned: Inventory, traffic: Traffic, page: RecognitionPage, now_ms: int) -> Overview:
    zone = ZoneInfo(owned.timezone)
    total = sum(quarter.recognitions for quarter in traffic.quarters)
    return Overview(
        total=total,
        inventory=owned,
        passes=counted_passes(traffic),
        days=daily_chart(traffic.quarters, now_ms, zone),
        hours=hourly_chart(traffic.quarters, zone),
        plates=traffic.plates,
        cameras=camera_chart(traffic.cameras, owned.camera_names),
        recent=page.rows,
    )


def counted_passes(traffic: Traffic) -> PassTally:
    """Return how many plate passes and image calls there were, and how many read a plate.

    A pass that was accepted is a camera's recognition. An image call counts once, however many
    plates it found and whether it was stored or not.
    """
    passes = sum(one.recognitions for one in traffic.cameras if one.camera_id != NIL_UUID)
    accepted = passes + traffic.outcomes.accepted
    return PassTally(accepted, accepted + traffic.outcomes.refused)
