"""From something that happened to the deliveries that tell of it. Pure."""

import hashlib
from collections.abc import Iterable
from uuid import UUID

from contracts.deliveries import (
    CameraEvent,
    Delivery,
    DeliveryTarget,
    EmailTarget,
    UrlTarget,
    WebhookTarget,
)
from contracts.ids import derived_uuid
from contracts.records import (
    AlertTrigger,
    EmailNotification,
    EventName,
    Recognition,
    WebhookConfig,
)
from contracts.secrets import SecretBox
from streams.webhooks.shapes import notifications_of

_ENDPOINT_DIGITS = 32


def recognition_deliveries(
    recognition: Recognition, webhooks: Iterable[WebhookConfig], *, published_ms: int
) -> list[Delivery]:
    """Return the deliveries of recognition.created."""
    event_id = derived_uuid(
        recognition.captured_ms, EventName.RECOGNITION_CREATED, str(recognition.id)
    )
    return [
        Delivery(
            id=delivery_id(event_id, str(webhook.webhook_id)),
            endpoint=str(webhook.webhook_id),
            owner_id=recognition.owner_id,
            target=WebhookTarget(webhook_id=webhook.webhook_id),
            event=EventName.RECOGNITION_CREATED,
            event_id=event_id,
            occurred_ms=recognition.captured_ms,
            created_ms=published_ms,
            recognition=recognition,
        )
        for webhook in webhooks
    ]


def trigger_deliveries(
    trigger: AlertTrigger, webhooks: Iterable[WebhookConfig], box: SecretBox
) -> list[Delivery]:
    """Return the deliveries of alert.triggered: to webhooks and to the alert's notifications.

    An address that is named twice is told once.

    Raises:
        MisconfiguredError: the notifications were encrypted with another key.
    """
    targets: dict[str, DeliveryTarget] = {
        str(webhook.webhook_id): WebhookTarget(webhook_id=webhook.webhook_id)
        for webhook in webhooks
    }
    targets.update(_notification_targets(trigger, box))
    captured_ms = trigger.recognition.captured_ms
    event_id = derived_uuid(captured_ms, EventName.ALERT_TRIGGERED, str(trigger.id))
    return [
        Delivery(
            id=delivery_id(event_id, endpoint),
            endpoint=endpoint,
            owner_id=trigger.owner_id,
            target=target,
            event=EventName.ALERT_TRIGGERED,
            event_id=event_id,
            occurred_ms=captured_ms,
            created_ms=trigger.decided_ms,
            trigger=trigger,
        )
        for endpoint, target in targets.items()
    ]


def camera_deliveries(
    event: EventName, told: CameraEvent, webhooks: Iterable[WebhookConfig]
) -> list[Delivery]:
    """Return the deliveries of camera.online or camera.offline."""
    status = told.status
    event_id = derived_uuid(status.at_ms, event, str(status.camera_id))
    return [
        Delivery(
            id=delivery_id(event_id, str(webhook.webhook_id)),
            endpoint=str(webhook.webhook_id),
            owner_id=status.owner_id,
            target=WebhookTarget(webhook_id=webhook.webhook_id),
            event=event,
            event_id=event_id,
            occurred_ms=status.at_ms,
            created_ms=status.at_ms,
            camera=told,
        )
        for webhook in webhooks
    ]


def delivery_id(event_id: UUID, endpoint: str) -> UUID:
    """Return the id of an event's delivery to an endpoint."""
    return derived_uuid(event_id.int >> 80, "delivery", str(event_id), endpoint)


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
    """Return the name of an owner's endpoint, which does not tell where it is."""
    text = "\x1f".join((kind, str(trigger.owner_id), place))
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:_ENDPOINT_DIGITS]}"
