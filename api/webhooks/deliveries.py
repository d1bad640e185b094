"""What was delivered to webhooks, and sending it (or something made up) again."""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from analytics_sql.attempts import DeliveryFilter, DeliveryPlace, DeliverySummary, WebhookSpan
from analytics_sql.recognitions import (
    ListedRecognition,
    RecognitionCursor,
    RecognitionFilter,
    RecognitionPage,
)
from api.db.engine import Database
from api.delivery_queue import DeliveryQueue
from api.errors import found, invalid_field
from api.webhooks.delivery_schemas import DeliveryQuery
from api.webhooks.models import WebhookRow
from api.webhooks.repository import WebhookRepository
from api.webhooks.samples import SampleMaker
from contracts.deliveries import Delivery, DeliveryCause, recognition_delivery
from contracts.recognitions import Recognition
from contracts.webhooks import EventName

MOST_REPLAYED = 5_000
_PAGE = 500


class DeliveryStore(Protocol):
    """Where attempts and recognitions are looked up."""

    async def deliveries(self, wanted: DeliveryFilter, limit: int) -> tuple[DeliverySummary, ...]:
        """Return deliveries, the latest tried first."""

    async def delivery_content(self, place: DeliveryPlace, delivery_id: UUID) -> bytes | None:
        """Return the encoded record of a delivery."""

    async def deliveries_between(self, span: WebhookSpan, limit: int) -> tuple[bytes, ...]:
        """Return the encoded records of a span, in order."""

    async def page(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
    ) -> RecognitionPage:
        """Return recognitions, newest first."""


class Deliveries:
    """The deliveries of all owners; every call names the owner it acts for."""

    def __init__(
        self,
        database: Database,
        rows: WebhookRepository,
        store: DeliveryStore,
        samples: SampleMaker,
        now_ms: Callable[[], int],
    ) -> None:
        """Take where webhooks, attempts and recognitions are."""
        self._queue = DeliveryQueue(database, now_ms)
        self._database = database
        self._rows = rows
        self._store = store
        self._samples = samples
        self._now_ms = now_ms

    async def latest(
        self, place: DeliveryPlace, query: DeliveryQuery
    ) -> tuple[DeliverySummary, ...]:
        """Return deliveries to a webhook, the latest tried first.

        Raises:
            ApiError: 404.
            TransientError: ClickHouse is away.
        """
        await self._require(place.user_id, place.webhook_id)
        wanted = query.filter_of(place, now_ms=self._now_ms())
        return await self._store.deliveries(wanted, query.limit)

    async def test(self, owner_id: UUID, webhook_id: UUID, event: EventName | None) -> Delivery:
        """Have a made-up event sent, of the first that the webhook wants unless it is named.

        Raises:
            ApiError: 404.
        """
        row = await self._require(owner_id, webhook_id)
        chosen = event or row.values.events[0]
        made = self._samples.delivery(chosen, owner_id, webhook_id, now_ms=self._now_ms())
        await self._queue.send([made])
        return made

    async def redeliver(self, owner_id: UUID, webhook_id: UUID, delivery_id: UUID) -> Delivery:
        """Have a delivery sent again, with its ids.

        Raises:
            ApiError: 404, also where what it held is past retention.
            TransientError: ClickHouse is away.
        """
        await self._require(owner_id, webhook_id)
        place = DeliveryPlace(user_id=owner_id, webhook_id=webhook_id)
        return await self._queue.send_again(await self._store.delivery_content(place, delivery_id))

    async def replay(self, owner_id: UUID, webhook_id: UUID, from_ms: int, to_ms: int) -> int:
        """Have the events of a time sent again, marked; return how many.

        Recognitions are all that there are; of other events, those that were to reach this webhook.

        Raises:
            ApiError: 404; 400 for more than :data:`MOST_REPLAYED`.
            TransientError: ClickHouse is away.
        """
        row = await self._require(owner_id, webhook_id)
        others = [each for each in row.values.events if each is not EventName.RECOGNITION_CREATED]
        if EventName.ALERT_TRIGGERED in others:
            others.append(EventName.ALERT_CORRECTED)
        span = WebhookSpan(
            user_id=owner_id,
            webhook_id=webhook_id,
            events=tuple(others),
            from_ms=from_ms,
            to_ms=to_ms,
        )
        contents = await self._store.deliveries_between(span, MOST_REPLAYED + 1)
        found = [self._queue.again(each, DeliveryCause.REPLAY) for each in contents]
        if EventName.RECOGNITION_CREATED in row.values.events:
            found += await self._recognitions(owner_id, webhook_id, from_ms, to_ms)
        if len(found) > MOST_REPLAYED:
            raise invalid_field("to", f"the period holds more than {MOST_REPLAYED} events")
        await self._queue.send(sorted(found, key=lambda delivery: delivery.occurred_ms))
        return len(found)

    async def _recognitions(
        self, owner_id: UUID, webhook_id: UUID, from_ms: int, to_ms: int
    ) -> list[Delivery]:
        wanted = RecognitionFilter(user_id=owner_id, from_ms=from_ms, to_ms=to_ms)
        now_ms = self._now_ms()
        found: list[Delivery] = []
        after: RecognitionCursor | None = None
        while len(found) <= MOST_REPLAYED:
            page = await self._store.page(wanted, after, _PAGE)
            found += [
                recognition_delivery(
                    _recognition(listed),
                    webhook_id,
                    created_ms=listed.captured_ms,
                    cause=DeliveryCause.REPLAY,
                    requested_ms=now_ms,
                )
                for listed in page.rows
            ]
            after = page.next_after
            if after is None:
                break
        return found

    async def _require(self, owner_id: UUID, webhook_id: UUID) -> WebhookRow:
        return found(
            await self._database.run(lambda session: self._rows.find(session, owner_id, webhook_id))
        )


def _recognition(listed: ListedRecognition) -> Recognition:
    """Return a recognition with all that its event tells; the rest is not read again."""
    return Recognition(
        id=listed.id,
        owner_id=listed.user_id,
        camera_id=listed.camera_id,
        camera_name=listed.camera_name,
        plate=listed.plate,
        confidence=listed.confidence,
        character_confidences=(),
        captured_ms=listed.captured_ms,
        first_seen_ms=listed.captured_ms,
        last_seen_ms=listed.captured_ms,
        readings_count=0,
        box=listed.box,
        photo_key=listed.photo_key,
        crop_key=listed.crop_key,
    )
