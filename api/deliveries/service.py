"""Lists, tests, redelivers and replays deliveries to webhooks and notifications."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy.orm import Session

from analytics_sql.deliveries import (
    AddressedDelivery,
    DeliveryCursor,
    DeliverySummary,
    EventFilter,
    WebhookSpan,
)
from analytics_sql.recognitions import RecognitionCursor, RecognitionFilter, RecognitionRow
from api.accounts.repository import lock_owner
from api.actors import Action
from api.adapters.clickhouse import ClickHouseStore
from api.alerts.repository import AlertRepository
from api.audit.actions import ActionSubject, AuditAction, current_action
from api.audit.repository import write_actions
from api.db.database import Database
from api.deliveries.samples import SampleEvents
from api.deliveries.schemas import DeliveryQuery
from api.errors import invalid_field, require_found
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.outbox.outbox import enqueue_all, enqueue_replay, waiting_replays
from api.security.permissions import Principal, Scope
from api.validation.fields import from_unix_ms
from api.webhooks.repository import WebhookRepository, WebhookRow
from common.records.codec import decode
from common.records.deliveries import (
    Delivery,
    DeliveryCause,
    recognition_delivery,
    recognition_event_id,
    trigger_event_ids,
)
from common.records.ids import MAX_PASS_MS
from common.records.payloads import shared_fields
from common.records.recognitions import Recognition
from common.records.topics import DELIVERIES
from common.records.webhooks import ALERT_EVENTS, EventName
from common.timestamps import iso_utc

MAX_REPLAYED: Final = 5_000
_PAGE: Final = 500


class Deliveries:
    """Manages deliveries to webhooks and alert notifications.

    Deliveries are sent through the outbox, so that no delivery is lost after a call has returned.
    All methods raise TransientError if PostgreSQL or ClickHouse is unavailable, and ApiError 404
    for resources of other accounts.
    """

    def __init__(
        self,
        database: Database,
        webhooks: WebhookRepository,
        alerts: AlertRepository,
        store: ClickHouseStore,
        samples: SampleEvents,
        limits: OwnerLimits,
        now_ms: Callable[[], int],
    ) -> None:
        """``now_ms`` returns the current time (Unix ms)."""
        self._database = database
        self._webhooks = webhooks
        self._alerts = alerts
        self._store = store
        self._samples = samples
        self._limits = limits
        self._now_ms = now_ms

    async def list_of_webhook(
        self, owner_id: UUID, webhook_id: UUID, query: DeliveryQuery
    ) -> tuple[DeliverySummary, ...]:
        """Return deliveries to a webhook, most recently attempted first."""
        await self._webhook(owner_id, webhook_id)
        return await self._list(DeliveryCursor(user_id=owner_id, webhook_id=webhook_id), query)

    async def list_of_alert(
        self, owner_id: UUID, alert_id: UUID, query: DeliveryQuery
    ) -> tuple[DeliverySummary, ...]:
        """Return deliveries of an alert's notifications, most recently attempted first."""
        return await self._list(await self._alert_cursor(owner_id, alert_id), query)

    async def list_of_recognition(
        self, recognition: RecognitionRow, limit: int
    ) -> tuple[AddressedDelivery, ...]:
        """Return deliveries of a recognition and its alerts, most recently attempted first."""
        owner_id, captured_ms = recognition.user_id, recognition.captured_ms
        triggers = await self._store.triggers_for(owner_id, recognition.id, captured_ms)
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

    async def test_webhook(
        self, owner_id: UUID, webhook_id: UUID, event: EventName | None
    ) -> Delivery:
        """Queue a test event, by default the webhook's first event. Return the delivery."""
        row = await self._webhook(owner_id, webhook_id)
        chosen = event or row.config.events[0]
        made = self._samples.delivery(chosen, owner_id, webhook_id, now_ms=self._now_ms())
        subject = ActionSubject("webhook", webhook_id, row.config.name)
        await self._send(
            [made], current_action(owner_id, Action.WEBHOOK_TESTED, subject, event=chosen)
        )
        return made

    async def test_notification(
        self, owner_id: UUID, alert_id: UUID, number: int
    ) -> list[Delivery]:
        """Queue a test of the alert's notification at index ``number``. Return the deliveries.

        Raises:
            ApiError: 404, the alert does not exist; 400, the index is out of range.
        """
        row = require_found(
            await self._database.run(lambda session: self._alerts.find(session, owner_id, alert_id))
        )
        if number >= len(row.notifications):
            raise invalid_field("notification", "must be the index of a notification")
        made = self._samples.notifications(
            row.config, row.notifications[number], now_ms=self._now_ms()
        )
        subject = ActionSubject("alert", alert_id)
        action = current_action(owner_id, Action.ALERT_TESTED, subject, notification=number)
        await self._send(made, action)
        return made

    async def redeliver_to_webhook(
        self, caller: Principal, webhook_id: UUID, delivery_id: UUID
    ) -> Delivery:
        """Queue a redelivery with the same IDs, and return the delivery.

        Raises:
            ApiError: 404, the delivery is unknown or expired; 403, the caller lacks alerts:read.
        """
        row = await self._webhook(caller.owner_id, webhook_id)
        delivery = await self._redelivery(
            DeliveryCursor(user_id=caller.owner_id, webhook_id=webhook_id), delivery_id
        )
        _check_alerts_readable(caller, [delivery.event])
        subject = ActionSubject("webhook", webhook_id, row.config.name)
        return await self._redeliver(delivery, caller.owner_id, subject)

    async def redeliver_notification(
        self, owner_id: UUID, alert_id: UUID, delivery_id: UUID
    ) -> Delivery:
        """Queue a redelivery to the original destination, with the same IDs. Return the delivery.

        Raises:
            ApiError: 404, the delivery is unknown or expired.
        """
        cursor = await self._alert_cursor(owner_id, alert_id)
        delivery = await self._redelivery(cursor, delivery_id)
        return await self._redeliver(delivery, owner_id, ActionSubject("alert", alert_id))

    async def replay(self, caller: Principal, webhook_id: UUID, from_ms: int, to_ms: int) -> int:
        """Replay the events of a time range, marked as replays. Return the number of events.

        The replay includes all recognitions, and the other events that were sent to this webhook.
        Events are sent in chronological order, after everything else that is pending.

        Raises:
            ApiError: 404, the webhook does not exist; 400, there are more than :data:`MAX_REPLAYED`
                events; 403, the caller lacks alerts:read; 429, too many replays are pending.
        """
        owner_id = caller.owner_id
        row = await self._webhook(owner_id, webhook_id)
        _check_alerts_readable(caller, row.config.events)
        await self._database.run(lambda session: self._check_replays(session, caller))
        past = await self._past_events(row, from_ms, to_ms)
        if len(past) > MAX_REPLAYED:
            raise invalid_field("to", f"must be earlier: there are over {MAX_REPLAYED} events")
        span_ms = {"from": from_ms, "to": to_ms}
        times = {name: iso_utc(from_unix_ms(ms)) for name, ms in span_ms.items()}
        subject = ActionSubject("webhook", webhook_id, row.config.name)
        action = current_action(owner_id, Action.EVENTS_REPLAYED, subject, count=len(past), **times)
        in_order = sorted(past, key=lambda delivery: delivery.occurred_ms)

        def work(session: Session) -> None:
            lock_owner(session, owner_id)
            self._check_replays(session, caller)
            write_actions(session, [action])
            enqueue_replay(session, DELIVERIES, owner_id, _keyed(in_order))

        await self._database.run(work)
        return len(past)

    async def _past_events(self, row: WebhookRow, from_ms: int, to_ms: int) -> list[Delivery]:
        owner_id, now_ms = row.config.owner_id, self._now_ms()
        others = [each for each in row.config.events if each is not EventName.RECOGNITION_CREATED]
        if EventName.ALERT_TRIGGERED in others:
            others.append(EventName.ALERT_CORRECTED)
        span = WebhookSpan(
            user_id=owner_id,
            webhook_id=row.id,
            events=tuple(others),
            from_ms=from_ms,
            to_ms=to_ms,
        )
        contents = await self._store.list_deliveries_between(span, MAX_REPLAYED + 1)
        past = [decode(Delivery, each).again(DeliveryCause.REPLAY, now_ms) for each in contents]
        if EventName.RECOGNITION_CREATED not in row.config.events:
            return past
        wanted = RecognitionFilter(user_id=owner_id, from_ms=from_ms, to_ms=to_ms)
        after: RecognitionCursor | None = None
        while len(past) <= MAX_REPLAYED:
            page = await self._store.page(wanted, after, _PAGE)
            past += map(partial(_replayed, webhook_id=row.id, now_ms=now_ms), page.rows)
            after = page.next_after
            if after is None:
                break
        return past

    async def _list(
        self, cursor: DeliveryCursor, query: DeliveryQuery
    ) -> tuple[DeliverySummary, ...]:
        wanted = query.filter_of(cursor, now_ms=self._now_ms())
        return await self._store.deliveries(wanted, query.limit)

    async def _webhook(self, owner_id: UUID, webhook_id: UUID) -> WebhookRow:
        row = await self._database.run(
            lambda session: self._webhooks.find(session, owner_id, webhook_id)
        )
        return require_found(row)

    async def _alert_cursor(self, owner_id: UUID, alert_id: UUID) -> DeliveryCursor:
        run = self._database.run
        require_found(await run(lambda session: self._alerts.find(session, owner_id, alert_id)))
        return DeliveryCursor(user_id=owner_id, alert_id=alert_id)

    async def _redelivery(self, cursor: DeliveryCursor, delivery_id: UUID) -> Delivery:
        """Return a past delivery for redelivery. Raise ApiError 404 if the content has expired."""
        content = await self._store.get_delivery_content(cursor, delivery_id)
        return decode(Delivery, require_found(content or None)).again(
            DeliveryCause.REDELIVERY, self._now_ms()
        )

    async def _redeliver(
        self, delivery: Delivery, owner_id: UUID, subject: ActionSubject
    ) -> Delivery:
        identifier = str(delivery.id)
        action = current_action(owner_id, Action.DELIVERY_REPEATED, subject, deliveryId=identifier)
        await self._send([delivery], action)
        return delivery

    async def _send(self, deliveries: Sequence[Delivery], action: AuditAction) -> None:
        """Queue deliveries, in order for each endpoint, with an audit log entry."""

        def work(session: Session) -> None:
            write_actions(session, [action])
            enqueue_all(session, DELIVERIES, _keyed(deliveries))

        await self._database.run(work)

    def _check_replays(self, session: Session, caller: Principal) -> None:
        """Reject a replay (429) while too many replays of the account are pending."""
        wanted = waiting_replays(session, caller.owner_id).count + 1
        self._limits.require(OwnerLimit.REPLAYS, caller.owner_id, caller.limits, wanted)


def _keyed(deliveries: Sequence[Delivery]) -> list[tuple[str, Delivery]]:
    return [(delivery.endpoint, delivery) for delivery in deliveries]


def _check_alerts_readable(caller: Principal, events: Iterable[EventName]) -> None:
    """Require the scope alerts:read if any of the events is an alert event."""
    if not ALERT_EVENTS.isdisjoint(events):
        caller.require(Scope.ALERTS_READ)


def _replayed(listed: RecognitionRow, webhook_id: UUID, now_ms: int) -> Delivery:
    """Return a recognition's delivery with the published values, except provisional plates."""
    return recognition_delivery(
        Recognition(owner_id=listed.user_id, **shared_fields(listed, Recognition)),
        webhook_id,
        created_ms=listed.captured_ms,
        cause=DeliveryCause.REPLAY,
        requested_ms=now_ms,
    )
