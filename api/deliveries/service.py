"""Deliveries to webhooks and of alerts' own notifications: listed, tested, sent again."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol
from uuid import UUID

from sqlalchemy.orm import Session

from analytics_sql.deliveries import (
    AddressedDelivery,
    DeliveryFilter,
    DeliveryPlace,
    DeliverySummary,
    EventFilter,
    WebhookSpan,
)
from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    RecognitionPage,
    RecognitionRow,
)
from api.accounts.repository import lock_owner
from api.alerts.repository import AlertRepository
from api.db.database import Database
from api.deliveries.samples import SampleMaker
from api.deliveries.schemas import DeliveryQuery
from api.errors import ApiError, ErrorCode, found, invalid_field
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.outbox.outbox import enqueue_all, enqueue_replay, waiting_replays
from api.security.actions import Action
from api.security.permissions import Principal, Scope
from api.trail.entries import Act, ActSubject, act_in_hand, write_acts
from api.validation.fields import from_unix_ms
from api.webhooks.repository import WebhookRepository, WebhookRow
from common.records.codec import decode
from common.records.deliveries import Delivery, DeliveryCause, recognition_delivery
from common.records.payloads import shared_fields
from common.records.recognitions import Recognition
from common.records.topics import DELIVERIES
from common.records.webhooks import ALERT_EVENTS, EventName
from common.timestamps import iso_utc


class DeliveryQueue:
    """Sends deliveries by the outbox, so that none is lost once a call is answered."""

    def __init__(self, database: Database, limits: OwnerLimits, now_ms: Callable[[], int]) -> None:
        """``now_ms`` is the wall clock, Unix ms."""
        self._database = database
        self._limits = limits
        self._now_ms = now_ms

    def again(self, content: bytes, cause: DeliveryCause) -> Delivery:
        """Return what an encoded delivery is when it is sent once more, with its ids."""
        return decode(Delivery, content).again(cause, self._now_ms())

    def redelivery(self, content: bytes | None) -> Delivery:
        """Return an encoded delivery as it is sent when it alone is asked for once more.

        Raises:
            ApiError: 404 where it is unknown (None) or past retention (empty).
        """
        if not content:
            raise ApiError(ErrorCode.NOT_FOUND)
        return self.again(content, DeliveryCause.REDELIVERY)

    async def send(self, deliveries: Sequence[Delivery], act: Act) -> None:
        """Send deliveries, in their order for each endpoint, by an act that the audit log tells."""

        def work(session: Session) -> None:
            write_acts(session, [act])
            keyed = [(delivery.endpoint, delivery) for delivery in deliveries]
            enqueue_all(session, DELIVERIES, keyed)

        await self._database.run(work)

    async def replay(self, caller: Principal, deliveries: Sequence[Delivery], act: Act) -> None:
        """Send past deliveries, in their order, after all else that is to be sent, likewise.

        Raises:
            ApiError: 429, as for :meth:`check_replays`.
        """
        keyed = [(delivery.endpoint, delivery) for delivery in deliveries]

        def work(session: Session) -> None:
            lock_owner(session, caller.owner_id)
            self._check_replays(session, caller)
            write_acts(session, [act])
            enqueue_replay(session, DELIVERIES, caller.owner_id, keyed)

        await self._database.run(work)

    async def check_replays(self, caller: Principal) -> None:
        """Refuse a replay while too many of the owner's wait to be sent.

        Raises:
            ApiError: 429.
        """
        await self._database.run(lambda session: self._check_replays(session, caller))

    def _check_replays(self, session: Session, caller: Principal) -> None:
        wanted = waiting_replays(session, caller.owner_id).count + 1
        self._limits.require(OwnerLimit.REPLAYS, caller.owner_id, caller.limits, wanted)


MAX_REPLAYED = 5_000
_PAGE = 500


class DeliveryStore(Protocol):
    """Looks up attempts and recognitions."""

    async def deliveries(self, wanted: DeliveryFilter, limit: int) -> tuple[DeliverySummary, ...]:
        """Return deliveries, the latest tried first."""

    async def deliveries_of(self, wanted: EventFilter, limit: int) -> tuple[AddressedDelivery, ...]:
        """Return the deliveries of events, the latest tried first."""

    async def delivery_content(self, place: DeliveryPlace, delivery_id: UUID) -> bytes | None:
        """Return the encoded record of a delivery."""

    async def deliveries_between(self, span: WebhookSpan, limit: int) -> tuple[bytes, ...]:
        """Return the encoded records of a span, in order."""

    async def page(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
    ) -> RecognitionPage:
        """Return recognitions, newest first."""


class Deliveries:
    """The deliveries to all owners' webhooks; every call names who it acts for."""

    def __init__(
        self,
        database: Database,
        rows: WebhookRepository,
        store: DeliveryStore,
        samples: SampleMaker,
        limits: OwnerLimits,
        now_ms: Callable[[], int],
    ) -> None:
        """``now_ms`` is the wall clock, Unix ms."""
        self._queue = DeliveryQueue(database, limits, now_ms)
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
            TransientError: ClickHouse is unavailable.
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
        chosen = event or row.config.events[0]
        made = self._samples.delivery(chosen, owner_id, webhook_id, now_ms=self._now_ms())
        subject = ActSubject("webhook", webhook_id, row.config.name)
        act = act_in_hand(owner_id, Action.WEBHOOK_TESTED, subject, event=chosen)
        await self._queue.send([made], act)
        return made

    async def redeliver(self, caller: Principal, webhook_id: UUID, delivery_id: UUID) -> Delivery:
        """Have a delivery sent again, with its ids.

        Raises:
            ApiError: 404, also where what it held is past retention; 403 for that of an alert.
            TransientError: ClickHouse is unavailable.
        """
        row = await self._require(caller.owner_id, webhook_id)
        place = DeliveryPlace(user_id=caller.owner_id, webhook_id=webhook_id)
        content = await self._store.delivery_content(place, delivery_id)
        delivery = self._queue.redelivery(content)
        _check_alerts_readable(caller, [delivery.event])
        subject = ActSubject("webhook", webhook_id, row.config.name)
        act = act_in_hand(
            caller.owner_id, Action.DELIVERY_REPEATED, subject, deliveryId=str(delivery_id)
        )
        await self._queue.send([delivery], act)
        return delivery

    async def replay(self, caller: Principal, webhook_id: UUID, from_ms: int, to_ms: int) -> int:
        """Have the events of a time sent again, marked; return how many.

        Recognitions are all that there are; of other events, those that were to reach this webhook.

        Raises:
            ApiError: 404; 400 for more than :data:`MAX_REPLAYED`; 403 for events of alerts; 429
                while too many replays of the owner wait to be sent.
            TransientError: ClickHouse is unavailable.
        """
        owner_id = caller.owner_id
        row = await self._require(owner_id, webhook_id)
        _check_alerts_readable(caller, row.config.events)
        await self._queue.check_replays(caller)
        others = [each for each in row.config.events if each is not EventName.RECOGNITION_CREATED]
        if EventName.ALERT_TRIGGERED in others:
            others.append(EventName.ALERT_CORRECTED)
        span = WebhookSpan(
            user_id=owner_id,
            webhook_id=webhook_id,
            events=tuple(others),
            from_ms=from_ms,
            to_ms=to_ms,
        )
        contents = await self._store.deliveries_between(span, MAX_REPLAYED + 1)
        found = [self._queue.again(each, DeliveryCause.REPLAY) for each in contents]
        if EventName.RECOGNITION_CREATED in row.config.events:
            found += await self._recognitions(owner_id, webhook_id, from_ms, to_ms)
        if len(found) > MAX_REPLAYED:
            raise invalid_field("to", f"the period holds more than {MAX_REPLAYED} events")
        in_order = sorted(found, key=lambda delivery: delivery.occurred_ms)
        span_ms = {"from": from_ms, "to": to_ms}
        told = {name: iso_utc(from_unix_ms(ms)) for name, ms in span_ms.items()}
        subject = ActSubject("webhook", webhook_id, row.config.name)
        act = act_in_hand(owner_id, Action.EVENTS_REPLAYED, subject, count=len(found), **told)
        await self._queue.replay(caller, in_order, act)
        return len(found)

    async def _recognitions(
        self, owner_id: UUID, webhook_id: UUID, from_ms: int, to_ms: int
    ) -> list[Delivery]:
        wanted = RecognitionFilter(user_id=owner_id, from_ms=from_ms, to_ms=to_ms)
        now_ms = self._now_ms()
        found: list[Delivery] = []
        after: RecognitionCursor | None = None
        while len(found) <= MAX_REPLAYED:
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


def _check_alerts_readable(caller: Principal, events: Iterable[EventName]) -> None:
    """Refuse to tell of past alerts for a caller who may not read alerts."""
    if not ALERT_EVENTS.isdisjoint(events):
        caller.require(Scope.ALERTS_READ)


def _recognition(listed: RecognitionRow) -> Recognition:
    """Return a recognition as it was published, but for its provisional plates."""
    return Recognition(owner_id=listed.user_id, **shared_fields(listed, Recognition))


class AttemptStore(Protocol):
    """Looks up attempts."""

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
        store: AttemptStore,
        samples: SampleMaker,
        limits: OwnerLimits,
        now_ms: Callable[[], int],
    ) -> None:
        """``now_ms`` is the wall clock, Unix ms."""
        self._database = database
        self._rows = rows
        self._store = store
        self._samples = samples
        self._now_ms = now_ms
        self._queue = DeliveryQueue(database, limits, now_ms)

    async def latest(
        self, owner_id: UUID, alert_id: UUID, query: DeliveryQuery
    ) -> tuple[DeliverySummary, ...]:
        """Return notifications of an alert, the latest tried first.

        Raises:
            ApiError: 404.
            TransientError: ClickHouse is unavailable.
        """
        place = await self._place(owner_id, alert_id)
        wanted = query.filter_of(place, now_ms=self._now_ms())
        return await self._store.deliveries(wanted, query.limit)

    async def test(self, owner_id: UUID, alert_id: UUID, number: int) -> list[Delivery]:
        """Have a made-up trigger of an alert sent to one of its notifications, counted from 0.

        Raises:
            ApiError: 404; 400 where it has fewer notifications.
        """
        row = found(
            await self._database.run(lambda session: self._rows.find(session, owner_id, alert_id))
        )
        if number >= len(row.notifications):
            raise invalid_field("notification", "the alert has no such notification")
        made = self._samples.notifications(
            row.config, row.notifications[number], now_ms=self._now_ms()
        )
        subject = ActSubject("alert", alert_id)
        act = act_in_hand(owner_id, Action.ALERT_TESTED, subject, notification=number)
        await self._queue.send(made, act)
        return made

    async def redeliver(self, owner_id: UUID, alert_id: UUID, delivery_id: UUID) -> Delivery:
        """Have a notification sent again, with its ids, to where it was to go then.

        Raises:
            ApiError: 404, also where what it held is past retention.
            TransientError: ClickHouse is unavailable.
        """
        place = await self._place(owner_id, alert_id)
        content = await self._store.delivery_content(place, delivery_id)
        delivery = self._queue.redelivery(content)
        act = act_in_hand(
            owner_id,
            Action.DELIVERY_REPEATED,
            ActSubject("alert", alert_id),
            deliveryId=str(delivery_id),
        )
        await self._queue.send([delivery], act)
        return delivery

    async def _place(self, owner_id: UUID, alert_id: UUID) -> DeliveryPlace:
        if not await self._database.run(
            lambda session: self._rows.has(session, owner_id, alert_id)
        ):
            raise ApiError(ErrorCode.NOT_FOUND)
        return DeliveryPlace(user_id=owner_id, alert_id=alert_id)
