"""Derives endpoints from an alert's own notifications, and creates deliveries. No I/O."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from common.records.alerts import (
    AlertConfig,
    AlertTrigger,
    AppriseNotification,
    EmailNotification,
    Notification,
    WebhookNotification,
)
from common.records.deliveries import (
    AppriseTarget,
    Delivery,
    DeliveryCause,
    DeliveryTarget,
    EmailTarget,
    UrlTarget,
    trigger_delivery,
)
from common.secrets import SecretBox

_ENDPOINT_DIGITS: Final = 32


@dataclass(frozen=True)
class EmailAddress:
    """A recipient of an email notification."""

    address: str


Destination = EmailAddress | WebhookNotification | AppriseNotification
Destinations = Mapping[str, Destination]
"""An alert's own destinations, by endpoint."""


def destinations_of(owner_id: UUID, notifications: Iterable[Notification]) -> Destinations:
    """Return the destinations of an account's notifications, without duplicates."""
    found: dict[str, Destination] = {}
    for notification in notifications:
        if isinstance(notification, EmailNotification):
            for address in notification.addresses:
                endpoint = _endpoint("email", owner_id, address.lower())
                found[endpoint] = EmailAddress(address)
        elif isinstance(notification, AppriseNotification):
            found[_endpoint("apprise", owner_id, notification.url)] = notification
        else:
            found[_endpoint("url", owner_id, notification.url)] = notification
    return found


def notification_delivery(
    trigger: AlertTrigger,
    alert: AlertConfig,
    endpoint: str,
    destination: Destination,
    box: SecretBox,
    *,
    cause: DeliveryCause = DeliveryCause.EVENT,
    requested_ms: int = 0,
) -> Delivery:
    """Return the delivery of a trigger to a destination. ``alert`` is the full alert."""
    target: DeliveryTarget
    if isinstance(destination, EmailAddress):
        address = box.encrypt(destination.address)
        target = EmailTarget(alert_id=alert.alert_id, address_encrypted=address)
    elif isinstance(destination, AppriseNotification):
        target = AppriseTarget(alert_id=alert.alert_id, url_encrypted=box.encrypt(destination.url))
    else:
        target = UrlTarget(
            alert_id=alert.alert_id,
            url_encrypted=box.encrypt(destination.url),
            secret_encrypted=alert.notification_secret_encrypted,
        )
    return trigger_delivery(trigger, endpoint, target, cause=cause, requested_ms=requested_ms)


def _endpoint(kind: str, owner_id: UUID, location: str) -> str:
    """Return the name of an account's endpoint, which does not reveal the address."""
    text = "\x1f".join((kind, str(owner_id), location))
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:_ENDPOINT_DIGITS]}"
