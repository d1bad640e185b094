"""Creates the deliveries of events, and publishes them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from uuid import UUID

import faust
import msgspec
import structlog
from cachetools import LRUCache, TTLCache

from common.errors import MisconfiguredError
from common.records.alerts import AlertConfig, AlertTrigger, AppriseNotification, TriggerPhase
from common.records.codec import encode
from common.records.deliveries import (
    CameraEvent,
    Delivery,
    DeliveryAttempt,
    WebhookTarget,
    camera_delivery,
    dropped_attempt,
    recognition_delivery,
    trigger_delivery,
    trigger_event,
)
from common.records.notifications import (
    Destinations,
    EmailAddress,
    destinations_of,
    notification_delivery,
)
from common.records.payloads import notifications_of
from common.records.recognitions import Recognition
from common.records.webhooks import EventName, WebhookConfig
from common.secrets import SecretBox
from common.telemetry.messaging import trace_about
from streams.runtime.alert_cache import AlertCache
from streams.runtime.app import Event, published_ms
from streams.runtime.batch_agent import LoopYielder
from streams.runtime.sending import OutgoingMessage, send_all
from streams.webhooks.events.delivery_budget import DeliveryBudget, Plan
from streams.webhooks.events.subscription_cache import SubscriptionCache

log = structlog.get_logger()

_PUBLISHED_TOGETHER = 200
"""Number of deliveries that are created and then sent together."""
_DECRYPTED_ALERTS = 256
_WARNED_ACCOUNTS = 1_000
_WARNED_SECONDS = 60.0

DeliveryPublisher = Callable[[Sequence[Delivery]], Awaitable[None]]
"""Publishes deliveries. Returns once Kafka has stored all of them."""

AttemptSender = Callable[[Sequence[DeliveryAttempt]], Awaitable[None]]
"""Publishes records of dropped deliveries. Returns once Kafka has stored all of them."""


def delivery_publisher(topic: faust.TopicT) -> DeliveryPublisher:
    """Return a function that publishes to the deliveries topic."""

    async def publish(deliveries: Sequence[Delivery]) -> None:
        await send_all(topic, (_message(one, one) for one in deliveries))

    return publish


def attempt_sender(topic: faust.TopicT) -> AttemptSender:
    """Return a function that publishes to the attempts topic."""

    async def publish(attempts: Sequence[DeliveryAttempt]) -> None:
        await send_all(topic, (_message(one, one.delivery) for one in attempts))

    return publish


def _message(record: Delivery | DeliveryAttempt, delivery: Delivery) -> OutgoingMessage:
    trace = trace_about(delivery.recognition_id)
    return OutgoingMessage(delivery.endpoint.encode(), encode(record), trace=trace)


class FanOut:
    """Publishes the deliveries of recognitions and alerts, batch by batch."""

    def __init__(
        self,
        subscriptions: SubscriptionCache,
        alerts: AlertCache,
        box: SecretBox,
        publish_deliveries: DeliveryPublisher,
        publish_attempts: AttemptSender,
        budget: DeliveryBudget,
        *,
        sends_email: bool,
        now_ms: Callable[[], int],
    ) -> None:
        """``sends_email``: whether an SMTP server is configured, so that emails are sent."""
        self._subscriptions = subscriptions
        self._alerts = alerts
        self._box = box
        self._publish_deliveries = publish_deliveries
        self._publish_attempts = publish_attempts
        self._budget = budget
        self._sends_email = sends_email
        self._now_ms = now_ms
        self._destinations: LRUCache[tuple[UUID, int], Destinations] = LRUCache(_DECRYPTED_ALERTS)
        self._warned: TTLCache[UUID, None] = TTLCache(_WARNED_ACCOUNTS, _WARNED_SECONDS)

    async def publish_recognitions(self, events: Sequence[tuple[Event, Recognition]]) -> None:
        """Publish the deliveries of recognitions. Safe to repeat.

        Raises:
            TransientError: Kafka is unavailable.
        """

        async def plans() -> AsyncIterator[list[Plan]]:
            for event, recognition in events:
                yield self._of_recognition(recognition, published_ms(event))

        await self._publish_all(plans())

    async def publish_triggers(self, events: Sequence[tuple[Event, AlertTrigger]]) -> None:
        """Publish the deliveries of triggers. Safe to repeat.

        Raises:
            TransientError: Kafka is unavailable.
            MisconfiguredError: an alert was encrypted with another key. If the batch has only one
                event, the webhook deliveries are still published.
        """

        async def plans() -> AsyncIterator[list[Plan]]:
            for event, trigger in events:
                yield await self._of_trigger(event, trigger)

        try:
            await self._publish_all(plans())
        except MisconfiguredError:
            if len(events) == 1:
                # Webhook deliveries are retried, so an administrator has time to correct the key.
                ((event, trigger),) = events
                webhooks = self._webhooks_for(event, trigger)
                deliveries = [plan() for plan in webhook_plans(trigger, webhooks)]
                await self._publish_deliveries(deliveries)
            raise

    async def _publish_all(self, events: AsyncIterator[list[Plan]]) -> None:
        """Publish in parts, because a batch can produce very many deliveries."""
        made: list[Delivery] = []
        dropped: list[DeliveryAttempt] = []
        yielder = LoopYielder()
        async for plans in events:
            await yielder.yield_if_due()
            share = self._budget.share(plans)
            made += share.made
            if share.left_out is not None:
                dropped.append(self._dropped_attempt(share.left_out, share.reason))
            if len(made) + len(dropped) >= _PUBLISHED_TOGETHER:
                await self._publish(made, dropped)
                made, dropped = [], []
        await self._publish(made, dropped)

    async def _publish(self, made: list[Delivery], dropped: list[DeliveryAttempt]) -> None:
        if made:
            await self._publish_deliveries(made)
        if dropped:
            await self._publish_attempts(dropped)

    def _dropped_attempt(self, delivery: Delivery, reason: str) -> DeliveryAttempt:
        """Return one attempt that represents all dropped deliveries of an event."""
        if delivery.owner_id not in self._warned:
            self._warned[delivery.owner_id] = None
            log.warning("deliveries_dropped", owner_id=str(delivery.owner_id), reason=reason)
        return dropped_attempt(_without_alert_name(delivery), reason, self._now_ms())

    def _of_recognition(self, recognition: Recognition, published: int) -> list[Plan]:
        wanted = EventName.RECOGNITION_CREATED
        webhooks = self._subscriptions.subscribers(recognition.owner_id, wanted, published)
        return [
            partial(recognition_delivery, recognition, webhook.webhook_id, created_ms=published)
            for webhook in webhooks
        ]

    async def _of_trigger(self, event: Event, trigger: AlertTrigger) -> list[Plan]:
        alert = await self._alerts.whole(trigger.alert)
        revision_key = (alert.alert_id, alert.revision)
        destinations = self._destinations.get(revision_key)
        if destinations is None:
            destinations = self._destinations[revision_key] = _destinations(alert, self._box)
        webhooks = self._webhooks_for(event, trigger)
        plans = trigger_plans(trigger, alert, destinations, webhooks, self._box)
        if self._sends_email:
            return [plan for plan, _ in plans]
        left = [plan for plan, is_email in plans if not is_email]
        if len(left) < len(plans):
            log.info(
                "email_not_sent",
                alert_id=str(alert.alert_id),
                reason="no SMTP server is configured",
            )
        return left

    def _webhooks_for(self, event: Event, trigger: AlertTrigger) -> tuple[WebhookConfig, ...]:
        wanted = trigger_event(trigger.phase)
        if wanted is EventName.ALERT_CORRECTED:
            # Webhooks that received the wrong plate receive the correction.
            wanted = EventName.ALERT_TRIGGERED
        return self._subscriptions.subscribers(trigger.owner_id, wanted, published_ms(event))


def trigger_plans(
    trigger: AlertTrigger,
    alert: AlertConfig,
    destinations: Destinations,
    webhooks: Iterable[WebhookConfig],
    box: SecretBox,
) -> list[tuple[Plan, bool]]:
    """Return the deliveries of a trigger to webhooks and to the alert's notifications.

    Each delivery is paired with a flag: whether the delivery is an email. ``alert`` is the
    trigger's complete alert. ``webhooks`` subscribe to the trigger's phase. The alert's own URLs
    are notified early, and again only if the early trigger was wrong. Emails and Apprise
    notifications are for people, so they are sent with the image after the vehicle has left.
    """
    plans = [(plan, False) for plan in webhook_plans(trigger, webhooks)]
    for endpoint, notification in destinations.items():
        is_email = isinstance(notification, EmailAddress)
        is_read = is_email or isinstance(notification, AppriseNotification)
        if _is_notified_of(trigger.phase, is_read=is_read):
            plan = partial(notification_delivery, trigger, alert, endpoint, notification, box)
            plans.append((plan, is_email))
    return plans


def webhook_plans(trigger: AlertTrigger, webhooks: Iterable[WebhookConfig]) -> list[Plan]:
    """Return the deliveries of a trigger to webhooks."""
    return [
        partial(
            trigger_delivery,
            trigger,
            str(webhook.webhook_id),
            WebhookTarget(webhook_id=webhook.webhook_id),
        )
        for webhook in webhooks
    ]


def _destinations(alert: AlertConfig, box: SecretBox) -> Destinations:
    """Return an alert's own destinations.

    Raises:
        MisconfiguredError: the notifications were encrypted with another key.
    """
    return destinations_of(alert.owner_id, notifications_of(alert, box))


def _without_alert_name(delivery: Delivery) -> Delivery:
    """Return a delivery without the alert's name, which is looked up if the delivery is resent.

    There can be one such record for each of hundreds of alerts, and names cannot be compressed.
    """
    trigger = delivery.trigger
    if trigger is None or not trigger.alert.is_reference:
        return delivery
    alert = msgspec.structs.replace(trigger.alert, name="")
    return msgspec.structs.replace(delivery, trigger=msgspec.structs.replace(trigger, alert=alert))


def _is_notified_of(phase: TriggerPhase, *, is_read: bool) -> bool:
    if is_read:
        return phase not in (TriggerPhase.EARLY, TriggerPhase.WITHDRAWN)
    return phase is not TriggerPhase.CONFIRMED


def camera_deliveries(
    event: EventName, camera: CameraEvent, webhooks: Iterable[WebhookConfig]
) -> list[Delivery]:
    """Return the deliveries of camera.online or camera.offline."""
    return [camera_delivery(event, camera, webhook.webhook_id) for webhook in webhooks]
