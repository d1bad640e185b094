"""What was sent of a recognition, and of the alerts that it set off."""

from typing import Protocol
from uuid import UUID

from analytics_sql.deliveries import AddressedDelivery, EventFilter
from analytics_sql.recognitions import RecognitionRow
from analytics_sql.triggers import RecognitionTrigger
from api.deliveries.service import DeliveryStore
from common.records.deliveries import recognition_event_id, trigger_event_ids
from common.records.ids import MAX_PASS_MS


class RecognitionTriggerStore(Protocol):
    """Looks up the alerts that fired for a recognition."""

    async def triggers_for(
        self, owner_id: UUID, recognition_id: UUID, captured_ms: int
    ) -> tuple[RecognitionTrigger, ...]:
        """Return the triggers of alerts by a recognition."""


class RecognitionDeliveries:
    """What became of recognitions: the deliveries of their own event and of the alerts by them."""

    def __init__(self, triggers: RecognitionTriggerStore, store: DeliveryStore) -> None:
        self._triggers = triggers
        self._store = store

    async def of(self, recognition: RecognitionRow, limit: int) -> tuple[AddressedDelivery, ...]:
        """Return a recognition's deliveries, the latest tried first.

        Raises:
            TransientError: ClickHouse is unavailable.
        """
        owner_id, captured_ms = recognition.user_id, recognition.captured_ms
        triggers = await self._triggers.triggers_for(owner_id, recognition.id, captured_ms)
        events = {recognition_event_id(recognition.id, captured_ms)}
        for each in triggers:
            events |= trigger_event_ids(each.id, each.triggered_ms, captured_ms)
        wanted = EventFilter(
            user_id=owner_id,
            event_ids=frozenset(events),
            from_ms=captured_ms - MAX_PASS_MS,
            to_ms=captured_ms + MAX_PASS_MS,
        )
        return await self._store.deliveries_of(wanted, limit)
