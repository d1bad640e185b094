"""Stores one row per delivery attempt, and queries deliveries.

All functions raise TransientError if ClickHouse is unavailable or busy. Rows that were not stored
can then be written again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

import msgspec

from analytics_sql.client import ClickHouseClient
from analytics_sql.rows import LABEL, LAST_STORABLE_MS, TEXT, TIME, UUIDS, Column, Table
from common.errors import InvalidInputError
from common.plates.normalise import normalise_plate
from common.records.alerts import AlertTrigger
from common.records.codec import encode
from common.records.deliveries import (
    AttemptOutcome,
    Delivery,
    DeliveryAttempt,
    DeliveryCause,
    WebhookTarget,
)
from common.records.ids import NIL_UUID, uuid_unix_ms
from common.records.recognitions import Recognition
from common.records.webhooks import EventName

_MAX_STATUS = 65_535


class DeliveryChannel(StrEnum):
    """Delivery channel."""

    HTTP = "http"
    EMAIL = "email"
    APPRISE = "apprise"


@dataclass(frozen=True, kw_only=True)
class DeliverySummary:
    """A delivery with the outcome of its last attempt. Times are Unix ms, UTC."""

    id: UUID
    event_id: UUID
    event: EventName
    channel: DeliveryChannel
    cause: DeliveryCause
    created_ms: int
    attempts: int
    last_attempt_ms: int
    last_duration_ms: int
    outcome: AttemptOutcome
    status: int | None
    error: str | None
    next_attempt_ms: int | None


@dataclass(frozen=True, kw_only=True)
class AddressedDelivery:
    """A delivery and its target. An alert's own notification has no webhook."""

    summary: DeliverySummary
    webhook_id: UUID | None
    alert_id: UUID | None


@dataclass(frozen=True, kw_only=True)
class EventFilter:
    """Events of an account within a time range (Unix ms, UTC, both ends inclusive)."""

    user_id: UUID
    event_ids: frozenset[UUID]
    from_ms: int
    to_ms: int


@dataclass(frozen=True, kw_only=True)
class DeliveryCursor:
    """The target of deliveries: an account's webhook, or an alert's own notifications."""

    user_id: UUID
    webhook_id: UUID = NIL_UUID
    alert_id: UUID = NIL_UUID


@dataclass(frozen=True, kw_only=True)
class DeliveryFilter:
    """Conditions on deliveries.

    ``from_ms`` is the minimum event time; the last attempt was before ``before_ms`` (Unix ms, UTC).
    """

    cursor: DeliveryCursor
    from_ms: int
    outcomes: tuple[AttemptOutcome, ...] = ()
    before_ms: int | None = None

    @property
    def user_id(self) -> UUID:
        """ID of the account."""
        return self.cursor.user_id


@dataclass(frozen=True, kw_only=True)
class WebhookSpan:
    """The events for an account's webhook within a time range.

    The range is from ``from_ms`` (inclusive) to ``to_ms`` (exclusive; Unix ms, UTC).
    """

    user_id: UUID
    webhook_id: UUID
    events: tuple[EventName, ...]
    from_ms: int
    to_ms: int


def check_attempt(attempt: DeliveryAttempt) -> DeliveryAttempt:
    """Return an attempt after checking that the table can store it.

    Raises:
        InvalidInputError: a time is out of range.
    """
    delivery = attempt.delivery
    times = (delivery.occurred_ms, delivery.created_ms, attempt.started_ms)
    if not all(0 <= each < LAST_STORABLE_MS for each in (*times, attempt.next_attempt_ms or 0)):
        raise InvalidInputError("the time is outside the table's range", code="time_out_of_range")
    return attempt


async def insert_attempts(client: ClickHouseClient, attempts: Sequence[DeliveryAttempt]) -> None:
    """Write attempts and return once they are stored. Rewriting an attempt is harmless."""
    await client.insert(_ATTEMPTS, attempts)


async def list_deliveries(
    client: ClickHouseClient, wanted: DeliveryFilter, limit: int
) -> tuple[DeliverySummary, ...]:
    """Return at most ``limit`` deliveries, the most recently attempted first."""
    conditions = {
        **asdict(wanted.cursor),
        "from_ms": wanted.from_ms,
        "outcomes": [outcome.value for outcome in wanted.outcomes],
        "before_ms": LAST_STORABLE_MS if wanted.before_ms is None else wanted.before_ms,
    }
    found = await client.query("deliveries", {**conditions, "limit": limit})
    return tuple(_summary(row) for row in found.named())


async def list_recognition_deliveries(
    client: ClickHouseClient, wanted: EventFilter, limit: int
) -> tuple[AddressedDelivery, ...]:
    """Return at most ``limit`` deliveries of the events, the most recently attempted first."""
    conditions = {
        **asdict(wanted),
        "event_ids": sorted(wanted.event_ids),
        "outcomes": [],
        "before_ms": LAST_STORABLE_MS,
    }
    found = await client.query("deliveries", {**conditions, "limit": limit})
    return tuple(
        AddressedDelivery(
            summary=_summary(row),
            webhook_id=_id_if_any(row["webhook_id"]),
            alert_id=_id_if_any(row["alert_id"]),
        )
        for row in found.named()
    )


async def get_delivery_content(
    client: ClickHouseClient, cursor: DeliveryCursor, delivery_id: UUID
) -> bytes | None:
    """Return a delivery's encoded record: ``b""`` if expired, None if the delivery is unknown."""
    occurred_ms = uuid_unix_ms(delivery_id)
    if occurred_ms >= LAST_STORABLE_MS:
        return None
    parameters = {**asdict(cursor), "delivery_id": delivery_id, "occurred_ms": occurred_ms}
    rows = await client.rows("delivery_content", parameters)
    return str(rows[0][0]).encode() if rows else None


async def list_deliveries_between(
    client: ClickHouseClient, span: WebhookSpan, limit: int
) -> tuple[bytes, ...]:
    """Return the encoded records of at most ``limit`` events of a time range, oldest first."""
    events = [event.value for event in span.events]
    parameters = {**asdict(span), "events": events, "limit": limit}
    rows = await client.rows("deliveries_between", parameters)
    return tuple(str(row[0]).encode() for row in rows)


def _alert_id(attempt: DeliveryAttempt) -> UUID:
    target = attempt.delivery.target
    return NIL_UUID if isinstance(target, WebhookTarget) else target.alert_id


def _webhook_id(attempt: DeliveryAttempt) -> UUID:
    target = attempt.delivery.target
    return target.webhook_id if isinstance(target, WebhookTarget) else NIL_UUID


def _status(attempt: DeliveryAttempt) -> int:
    status = attempt.status or 0
    return status if 0 <= status <= _MAX_STATUS else 0


def _content(attempt: DeliveryAttempt) -> str:
    return encode(attempt.delivery).decode() if has_content(attempt.delivery) else ""


_ATTEMPTS: Final = Table[DeliveryAttempt](
    "delivery_attempts",
    (
        Column(UUIDS, "user_id", attrgetter("delivery.owner_id")),
        Column(UUIDS, "webhook_id", _webhook_id),
        Column(UUIDS, "alert_id", _alert_id),
        Column(UUIDS, "delivery_id", attrgetter("delivery.id")),
        Column("UInt64", "requested_ms", attrgetter("delivery.requested_ms")),
        Column(UUIDS, "id"),
        Column(TEXT, "endpoint", attrgetter("delivery.endpoint")),
        Column(UUIDS, "event_id", attrgetter("delivery.event_id")),
        Column(LABEL, "event", attrgetter("delivery.event.value")),
        Column(LABEL, "cause", attrgetter("delivery.cause.value")),
        Column(TIME, "occurred", attrgetter("delivery.occurred_ms")),
        Column(TIME, "created", attrgetter("delivery.created_ms")),
        Column("UInt16", "number"),
        Column(TIME, "started", attrgetter("started_ms")),
        Column("UInt32", "duration_ms"),
        Column(LABEL, "outcome", attrgetter("outcome.value")),
        Column("UInt16", "status", _status),
        Column(LABEL, "error", lambda attempt: attempt.error or ""),
        Column(TIME, "next_attempt", lambda attempt: attempt.next_attempt_ms or 0),
        Column(TEXT, "delivery", _content),
    ),
)


def _id_if_any(identifier: UUID) -> UUID | None:
    return None if identifier == NIL_UUID else identifier


def _channel(endpoint: str) -> DeliveryChannel:
    # Endpoints for people begin with the channel. All other endpoints are URLs.
    kind = endpoint.partition("-")[0]
    people = (DeliveryChannel.EMAIL, DeliveryChannel.APPRISE)
    return next((channel for channel in people if channel == kind), DeliveryChannel.HTTP)


def _summary(row: Mapping[str, Any]) -> DeliverySummary:
    return DeliverySummary(
        id=row["delivery_id"],
        event_id=row["event_id"],
        event=EventName(row["event"]),
        channel=_channel(row["endpoint"]),
        cause=DeliveryCause(row["cause"]),
        created_ms=row["created_ms"],
        attempts=row["attempts"],
        last_attempt_ms=row["last_started_ms"],
        last_duration_ms=row["last_duration_ms"],
        outcome=AttemptOutcome(row["last_outcome"]),
        status=row["last_status"] or None,
        error=row["last_error"] or None,
        next_attempt_ms=row["next_attempt_ms"] or None,
    )


def plates_of(delivery: Delivery) -> frozenset[str]:
    """Return a delivery's normalised plates: final, provisional, early, and listed in the alert.

    ``plate_spellings.sql`` finds the same plates in SQL.
    """
    return frozenset(normalise_plate(plate) for plate in _plates(delivery))


def without_content(attempt: DeliveryAttempt) -> DeliveryAttempt:
    """Return a copy of an attempt without the delivery's content, as if the content had expired."""
    bare = msgspec.structs.replace(attempt.delivery, recognition=None, trigger=None, camera=None)
    return msgspec.structs.replace(attempt, delivery=bare)


def has_content(delivery: Delivery) -> bool:
    """Return whether a delivery contains its event."""
    return any((delivery.recognition, delivery.trigger, delivery.camera))


def _plates(delivery: Delivery) -> Iterator[str]:
    if delivery.recognition is not None:
        yield from _of_recognition(delivery.recognition)
    if delivery.trigger is not None:
        yield from _of_trigger(delivery.trigger)


def _of_trigger(trigger: AlertTrigger) -> Iterator[str]:
    yield from _of_recognition(trigger.recognition)
    yield from trigger.alert.plates
    if trigger.early is not None:
        yield trigger.early.plate


def _of_recognition(recognition: Recognition) -> Iterator[str]:
    yield recognition.plate
    yield from (each.plate for each in recognition.provisional_plates)
