"""From something that happened to the deliveries that tell of it. Pure."""

import hashlib
from collections.abc import Iterable

from contracts.alert_records import AlertTrigger
from contracts.alerts import EmailNotification
from contracts.deliveries import (
    CameraEvent,
    Delivery,
    DeliveryTarget,
    EmailTarget,
    UrlTarget,
    WebhookTarget,
    camera_delivery,
    recognition_delivery,
    trigger_delivery,
)
from contracts.early import TriggerPhase
from contracts.recognitions import Recognition
from contracts.secrets import SecretBox
from contracts.webhooks import EventName, WebhookConfig
from streams.common.shapes import notifications_of

_ENDPOINT_DIGITS = 32


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

    ``webhooks`` are those that are told of the trigger's phase. The alert's own URLs are told
    early, and again only where that was wrong. E-mail is for people: it waits until the vehicle is
    gone, and has its picture then. An address that is named twice is told once.

    Raises:
        MisconfiguredError: the notifications were encrypted with another key.
    """
    targets = _notification_targets(trigger, box)
    return [
        *trigger_webhook_deliveries(trigger, webhooks),
        *(
            trigger_delivery(trigger, endpoint, target)
            for endpoint, target in targets.items()
            if _is_told(trigger.phase, target)
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


def _is_told(phase: TriggerPhase, target: DeliveryTarget) -> bool:
    if isinstance(target, EmailTarget):
        return phase not in (TriggerPhase.EARLY, TriggerPhase.WITHDRAWN)
    return phase is not TriggerPhase.CONFIRMED


def camera_deliveries(
    event: EventName, told: CameraEvent, webhooks: Iterable[WebhookConfig]
) -> list[Delivery]:
    """Return the deliveries of camera.online or camera.offline."""
    return [camera_delivery(event, told, webhook.webhook_id) for webhook in webhooks]


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
