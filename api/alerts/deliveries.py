"""What became of an alert's own notifications, and sending them again."""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from analytics_sql.attempts import DeliveryFilter, DeliveryPlace, DeliverySummary
from api.alerts.repository import AlertRepository
from api.db.engine import Database
from api.delivery_queue import DeliveryQueue
from api.errors import ApiError, ErrorCode
from api.webhooks.delivery_schemas import DeliveryQuery
from contracts.deliveries import Delivery


class NotificationStore(Protocol):
    """Where attempts are looked up."""

    async def deliveries(self, wanted: DeliveryFilter, limit: int) -> tuple[DeliverySummary, ...]:
        """Return deliveries, the latest tried first."""

    async def delivery_content(self, place: DeliveryPlace, delivery_id: UUID) -> bytes | None:
        """Return the encoded record of a delivery."""


class AlertDeliveries:
    """The notifications of all owners' alerts; every call names the owner it acts for."""

    def __init__(
        self,
        database: Database,
        rows: AlertRepository,
        store: NotificationStore,
        now_ms: Callable[[], int],
    ) -> None:
        """Take where alerts and attempts are."""
        self._database = database
        self._rows = rows
        self._store = store
        self._now_ms = now_ms
        self._queue = DeliveryQueue(database, now_ms)

    async def latest(
        self, owner_id: UUID, alert_id: UUID, query: DeliveryQuery
    ) -> tuple[DeliverySummary, ...]:
        """Return notifications of an alert, the latest tried first.

        Raises:
            ApiError: 404.
            TransientError: ClickHouse is away.
        """
        place = await self._place(owner_id, alert_id)
        wanted = query.filter_of(place, now_ms=self._now_ms())
        return await self._store.deliveries(wanted, query.limit)

    async def redeliver(self, owner_id: UUID, alert_id: UUID, delivery_id: UUID) -> Delivery:
        """Have a notification sent again, with its ids, to where it was to go then.

        Raises:
            ApiError: 404, also where what it held is past retention.
            TransientError: ClickHouse is away.
        """
        place = await self._place(owner_id, alert_id)
        return await self._queue.send_again(await self._store.delivery_content(place, delivery_id))

    async def _place(self, owner_id: UUID, alert_id: UUID) -> DeliveryPlace:
        if not await self._database.run(
            lambda session: self._rows.has(session, owner_id, alert_id)
        ):
            raise ApiError(ErrorCode.NOT_FOUND)
        return DeliveryPlace(user_id=owner_id, alert_id=alert_id)
