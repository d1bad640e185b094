"""Records of deliveries: an event for an endpoint, each attempt, and the state of a webhook."""

from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from common.records.alerts import AlertTrigger, TriggerPhase
from common.records.cameras import CameraConfig, CameraStatus
from common.records.codec import Record
from common.records.ids import delivery_id, derived_uuid, event_id
from common.records.recognitions import Recognition
from common.records.webhooks import ALERT_EVENTS, EventName


class CameraEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A camera that went online or offline: its configuration at that time, and its status."""

    camera: CameraConfig
    status: CameraStatus


class WebhookTarget(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="webhook"
):
    """A webhook, whose URL and secrets are looked up when an event is sent."""

    webhook_id: UUID


class UrlTarget(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="url"
):
    """A URL of an alert's notifications, decrypted by :class:`common.secrets.SecretBox`.

    ``secret_encrypted`` signs until the account's secret is known
    (:class:`~common.records.owners.OwnerConfig`).
    """

    alert_id: UUID
    url_encrypted: str
    secret_encrypted: str


class EmailTarget(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="email"
):
    """An encrypted email address of an alert's notifications."""

    alert_id: UUID
    address_encrypted: str


class AppriseTarget(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="apprise"
):
    """An encrypted Apprise URL of an alert's notifications."""

    alert_id: UUID
    url_encrypted: str


DeliveryTarget = WebhookTarget | UrlTarget | EmailTarget | AppriseTarget
NOTIFICATION_TARGETS = (EmailTarget, AppriseTarget)
"""Targets that people read. People are notified once, after the vehicle has left."""


class DeliveryCause(StrEnum):
    """Why a delivery was attempted: the event itself, or a request from a client."""

    EVENT = "event"
    TEST = "test"
    REPLAY = "replay"
    REDELIVERY = "redelivery"


class Delivery(Record, frozen=True, kw_only=True):
    """Record on the deliveries topic (key = ``endpoint``): one event for one endpoint.

    ``endpoint`` identifies the destination without revealing it: the webhook's ID, or a hash.
    ``event_id`` is derived from the cause, and ``id`` from event and endpoint, so a replay gives
    the same IDs. Exactly one of ``recognition``, ``trigger`` and ``camera`` is set, depending on
    ``event``. ``occurred_ms`` (capture time) orders the deliveries of an endpoint; ``created_ms``
    is when the event was created. ``requested_ms`` distinguishes redeliveries requested by clients.
    ``trace`` is the ``traceparent`` that even late attempts continue, if traced. Times are Unix ms,
    UTC.
    """

    id: UUID
    endpoint: str
    owner_id: UUID
    target: DeliveryTarget
    event: EventName
    event_id: UUID
    occurred_ms: int
    created_ms: int
    cause: DeliveryCause = DeliveryCause.EVENT
    requested_ms: int = 0
    recognition: Recognition | None = None
    trigger: AlertTrigger | None = None
    camera: CameraEvent | None = None
    trace: str | UnsetType = UNSET

    @property
    def recognition_id(self) -> UUID | None:
        """The recognition of the event, or None for a camera event."""
        if self.trigger is not None:
            return self.trigger.recognition.id
        return None if self.recognition is None else self.recognition.id

    def again(self, cause: DeliveryCause, requested_ms: int) -> "Delivery":
        """Return a copy to send again, with the same IDs. ``requested_ms`` is in Unix ms, UTC."""
        trace = UNSET if cause is DeliveryCause.REPLAY else self.trace
        return msgspec.structs.replace(self, cause=cause, requested_ms=requested_ms, trace=trace)


class AttemptOutcome(StrEnum):
    """Outcome of an attempt and of its delivery.

    `dead`: failed permanently; can be redelivered. `cancelled`: not attempted, because the webhook
    was deleted or disabled, or an account limit was reached.
    """

    DELIVERED = "delivered"
    RETRYING = "retrying"
    DEAD = "dead"
    """The delivery failed permanently and is only sent again on request."""
    CANCELLED = "cancelled"
    """The webhook was deleted or disabled, or an account limit was reached."""


GONE: Final = 410
"""HTTP status of a receiver that wants no further deliveries."""


class DeliveryAttempt(Record, frozen=True, kw_only=True):
    """Record on the attempts topic (key = the delivery's endpoint): one attempt of a delivery.

    ``number`` counts from 1. ``status`` is the HTTP status, if any, or the SMTP reply code;
    ``error`` is a sentence for people. ``webhook_revision`` is the webhook's revision at the
    time of the attempt, or None for other targets. Times are Unix ms, UTC.
    """

    id: UUID
    delivery: Delivery
    number: int
    started_ms: int
    duration_ms: int
    outcome: AttemptOutcome
    status: int | None = None
    error: str | None = None
    next_attempt_ms: int | None = None
    webhook_revision: int | None = None


def attempt_id(delivery: Delivery, number: int) -> UUID:
    """Return the ID of a delivery's attempt ``number``, the same in every process."""
    return derived_uuid(
        delivery.occurred_ms,
        "attempt",
        str(delivery.id),
        str(delivery.requested_ms),
        str(number),
    )


def dropped_attempt(delivery: Delivery, reason: str, now_ms: int) -> DeliveryAttempt:
    """Return the record of a delivery that is not attempted, but can be sent again."""
    return DeliveryAttempt(
        id=attempt_id(delivery, 1),
        delivery=delivery,
        number=1,
        started_ms=now_ms,
        duration_ms=0,
        outcome=AttemptOutcome.CANCELLED,
        error=reason,
    )


class WebhookStatus(Record, frozen=True, kw_only=True):
    """Record on webhook-status (compacted, key = webhook ID): the state of a webhook's deliveries.

    ``failure_count``: failed attempts since the last success. ``given_up_count``: failed
    deliveries. The attempts since ``failing_since_ms`` decide whether the webhook is disabled;
    ``disabled_reason`` then contains the reason, and ``disabled_revision`` the configuration that
    was disabled. ``attempts_offset`` is the offset up to which the attempts topic's partition is
    included. Times are Unix ms, UTC.
    """

    webhook_id: UUID
    owner_id: UUID
    attempts_offset: int
    failure_count: int = 0
    given_up_count: int = 0
    last_delivery_ms: int | None = None
    last_delivery_status: int | None = None
    failing_count: int = 0
    failing_since_ms: int | None = None
    disabled_reason: str | None = None
    disabled_revision: int | None = None
    disabled_ms: int | None = None


def recognition_event_id(recognition_id: UUID, captured_ms: int) -> UUID:
    """Return the ID of the event recognition.created; ``captured_ms`` is Unix ms, UTC."""
    return event_id(captured_ms, EventName.RECOGNITION_CREATED, str(recognition_id))


def trigger_event_ids(trigger_id: UUID, triggered_ms: int, captured_ms: int) -> frozenset[UUID]:
    """Return the IDs of all events that a trigger can cause.

    ``triggered_ms`` is the trigger's time, and ``captured_ms`` the capture time (Unix ms, UTC).
    """
    return frozenset(
        event_id(_occurred_ms(name, triggered_ms, captured_ms), name, str(trigger_id))
        for name in ALERT_EVENTS
    )


def recognition_delivery(
    recognition: Recognition,
    webhook_id: UUID,
    *,
    created_ms: int,
    cause: DeliveryCause = DeliveryCause.EVENT,
    requested_ms: int = 0,
) -> Delivery:
    """Return the delivery of recognition.created to a webhook."""
    captured_ms = recognition.captured_ms
    event = recognition_event_id(recognition.id, captured_ms)
    return Delivery(
        id=delivery_id(event, str(webhook_id)),
        endpoint=str(webhook_id),
        owner_id=recognition.owner_id,
        target=WebhookTarget(webhook_id=webhook_id),
        event=EventName.RECOGNITION_CREATED,
        event_id=event,
        occurred_ms=captured_ms,
        created_ms=created_ms,
        cause=cause,
        requested_ms=requested_ms,
        recognition=recognition,
    )


def trigger_event(phase: TriggerPhase) -> EventName:
    """Return the event that webhooks receive for a trigger in this phase."""
    match phase:
        case TriggerPhase.FINAL | TriggerPhase.EARLY:
            return EventName.ALERT_TRIGGERED
        case TriggerPhase.CONFIRMED:
            return EventName.ALERT_CONFIRMED
        case TriggerPhase.CORRECTED | TriggerPhase.WITHDRAWN:
            return EventName.ALERT_CORRECTED


def trigger_occurred_ms(trigger: AlertTrigger, event: EventName) -> int:
    """Return the time of a trigger's event (Unix ms, UTC), with which the event's ID begins."""
    return _occurred_ms(event, trigger.triggered_ms, trigger.recognition.captured_ms)


def _occurred_ms(event: EventName, triggered_ms: int, captured_ms: int) -> int:
    if event is EventName.ALERT_TRIGGERED:
        return triggered_ms
    return max(captured_ms, triggered_ms + 1)


def trigger_delivery(
    trigger: AlertTrigger,
    endpoint: str,
    target: DeliveryTarget,
    *,
    cause: DeliveryCause = DeliveryCause.EVENT,
    requested_ms: int = 0,
) -> Delivery:
    """Return the delivery of a trigger, or of its resolution, to an endpoint.

    The resolution of an early trigger is ordered after that trigger. People are notified once, when
    the trigger is resolved.
    """
    name = trigger_event(trigger.phase)
    if isinstance(target, NOTIFICATION_TARGETS):
        name = EventName.ALERT_TRIGGERED
    occurred_ms = trigger_occurred_ms(trigger, name)
    event = event_id(occurred_ms, name, str(trigger.id))
    return Delivery(
        id=delivery_id(event, endpoint),
        endpoint=endpoint,
        owner_id=trigger.owner_id,
        target=target,
        event=name,
        event_id=event,
        occurred_ms=occurred_ms,
        created_ms=trigger.decided_ms,
        cause=cause,
        requested_ms=requested_ms,
        trigger=trigger,
    )


def camera_delivery(
    event: EventName,
    change: CameraEvent,
    webhook_id: UUID,
    *,
    cause: DeliveryCause = DeliveryCause.EVENT,
    requested_ms: int = 0,
) -> Delivery:
    """Return the delivery of camera.online or camera.offline to a webhook."""
    status = change.status
    identifier = event_id(status.at_ms, event, str(status.camera_id))
    return Delivery(
        id=delivery_id(identifier, str(webhook_id)),
        endpoint=str(webhook_id),
        owner_id=status.owner_id,
        target=WebhookTarget(webhook_id=webhook_id),
        event=event,
        event_id=identifier,
        occurred_ms=status.at_ms,
        created_ms=status.at_ms,
        cause=cause,
        requested_ms=requested_ms,
        camera=change,
    )
