"""The deliveries that an event gives, and the agents' bodies that publish them."""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol

import faust

from common.errors import MisconfiguredError
from common.records.alerts import AlertTrigger, EmailNotification, TriggerPhase
from common.records.codec import encode
from common.records.deliveries import (
    CameraEvent,
    Delivery,
    DeliveryTarget,
    EmailTarget,
    UrlTarget,
    WebhookTarget,
    camera_delivery,
    recognition_delivery,
    trigger_delivery,
    trigger_event,
)
from common.records.payloads import notifications_of
from common.records.recognitions import Recognition
from common.records.webhooks import EventName, WebhookConfig
from common.secrets import SecretBox
from streams.runtime.app import Event, published_ms
from streams.runtime.sending import send_all
from streams.webhooks.events.subscription_cache import SubscriptionCache

_ENDPOINT_DIGITS = 32
_PUBLISHED_TOGETHER = 200
"""Deliveries made before they are sent: 8 MB where each holds an alert of 1,000 plates."""


class DeliveryPublisher(Protocol):
    """Publishes deliveries."""

    async def __call__(self, deliveries: Sequence[Delivery]) -> None:
        """Publish them; returns once Kafka has all."""


def delivery_publisher(topic: faust.TopicT) -> DeliveryPublisher:
    """Return the publisher to the topic of deliveries."""

    async def publish(deliveries: Sequence[Delivery]) -> None:
        await send_all(topic, ((one.endpoint.encode(), encode(one)) for one in deliveries))

    return publish


class FanOut:
    """Publishes the deliveries of recognitions and alerts, batch by batch."""

    def __init__(
        self, subscriptions: SubscriptionCache, box: SecretBox, publish: DeliveryPublisher
    ) -> None:
        self._subscriptions = subscriptions
        self._box = box
        self._publish = publish

    async def publish_recognitions(self, events: Sequence[tuple[Event, Recognition]]) -> None:
        """Publish the deliveries of recognitions. Safe to repeat.

        Raises:
            TransientError: Kafka is unavailable.
        """
        await self._publish_all(
            delivery
            for event, recognition in events
            for delivery in self._of_recognition(recognition, published_ms(event))
        )

    async def publish_triggers(self, events: Sequence[tuple[Event, AlertTrigger]]) -> None:
        """Publish the deliveries of triggered alerts. Safe to repeat.

        Raises:
            TransientError: Kafka is unavailable.
            MisconfiguredError: an alert was encrypted with another key. If it is the only one,
                webhooks get it all the same.
        """
        try:
            await self._publish_all(
                each for event, trigger in events for each in self._of_trigger(event, trigger)
            )
        except MisconfiguredError:
            if len(events) == 1:
                # They are attempted for longer than it takes to mend the key.
                ((event, trigger),) = events
                webhooks = self._webhooks_for(event, trigger)
                await self._publish(trigger_webhook_deliveries(trigger, webhooks))
            raise

    async def _publish_all(self, deliveries: Iterable[Delivery]) -> None:
        """Publish in parts: each holds its alert, and a batch may give very many."""
        coming = iter(deliveries)
        while part := list(islice(coming, _PUBLISHED_TOGETHER)):
            await self._publish(part)

    def _of_recognition(self, recognition: Recognition, published: int) -> list[Delivery]:
        wanted = EventName.RECOGNITION_CREATED
        webhooks = self._subscriptions.subscribers(recognition.owner_id, wanted, published)
        return recognition_deliveries(recognition, webhooks, published_ms=published)

    def _of_trigger(self, event: Event, trigger: AlertTrigger) -> list[Delivery]:
        return trigger_deliveries(trigger, self._webhooks_for(event, trigger), self._box)

    def _webhooks_for(self, event: Event, trigger: AlertTrigger) -> tuple[WebhookConfig, ...]:
        wanted = trigger_event(trigger.phase)
        if wanted is EventName.ALERT_CORRECTED:
            # Whoever got the wrong plate gets the correction.
            wanted = EventName.ALERT_TRIGGERED
        return self._subscriptions.subscribers(trigger.owner_id, wanted, published_ms(event))


def recognition_deliveries(
    recognition: Recognition, webhooks: Iterable[WebhookConfig], *, published_ms: int
) -> list[Delivery]:
    """Return the deliveries of recognition.created."""
    return [
        recognition_delivery(recognition, webhook.webhook_id, created_ms=published_ms)
        for webhook in webhooks
    ]


def trigger_deliveries(
    trigger: AlertTrigger, webhooks: Iterable[WebhookConfig], box: SecretBox
) -> list[Delivery]:
    """Return the deliveries of alert.triggered: to webhooks and to the alert's notifications.

    ``webhooks`` are those that subscribe to the trigger's phase. The alert's own URLs get it early,
    and again only where that was wrong. E-mail is for people: it waits until the vehicle is gone,
    and has its picture then. An address that is named twice gets one delivery.

    Raises:
        MisconfiguredError: the notifications were encrypted with another key.
    """
    targets = _notification_targets(trigger, box)
    return [
        *trigger_webhook_deliveries(trigger, webhooks),
        *(
            trigger_delivery(trigger, endpoint, target)
            for endpoint, target in targets.items()
            if _is_notified_of(trigger.phase, target)
        ),
    ]


def trigger_webhook_deliveries(
    trigger: AlertTrigger, webhooks: Iterable[WebhookConfig]
) -> list[Delivery]:
    """Return those deliveries of alert.triggered that go to webhooks."""
    return [
        trigger_delivery(
            trigger, str(webhook.webhook_id), WebhookTarget(webhook_id=webhook.webhook_id)
        )
        for webhook in webhooks
    ]


def _is_notified_of(phase: TriggerPhase, target: DeliveryTarget) -> bool:
    if isinstance(target, EmailTarget):
        return phase not in (TriggerPhase.EARLY, TriggerPhase.WITHDRAWN)
    return phase is not TriggerPhase.CONFIRMED


def camera_deliveries(
    event: EventName, camera: CameraEvent, webhooks: Iterable[WebhookConfig]
) -> list[Delivery]:
    """Return the deliveries of camera.online or camera.offline."""
    return [camera_delivery(event, camera, webhook.webhook_id) for webhook in webhooks]


def _notification_targets(trigger: AlertTrigger, box: SecretBox) -> dict[str, DeliveryTarget]:
    alert = trigger.alert
    targets: dict[str, DeliveryTarget] = {}
    for notification in notifications_of(alert, box):
        if isinstance(notification, EmailNotification):
            for address in notification.addresses:
                targets[_endpoint("email", trigger, address.lower())] = EmailTarget(
                    alert_id=alert.alert_id, address_encrypted=box.encrypt(address)
                )
        else:
            targets[_endpoint("url", trigger, notification.url)] = UrlTarget(
                alert_id=alert.alert_id,
                url_encrypted=box.encrypt(notification.url),
                secret_encrypted=alert.notification_secret_encrypted,
            )
    return targets


def _endpoint(kind: str, trigger: AlertTrigger, place: str) -> str:
    """Return the name of an owner's endpoint, without its address."""
    text = "\x1f".join((kind, str(trigger.owner_id), place))
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:_ENDPOINT_DIGITS]}"
