"""Tries to deliver events, in ClickHouse: one row each, and what clients ask of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.connection import clickhouse_errors
from analytics_sql.delivery_plates import has_content
from analytics_sql.inserts import insert_values
from analytics_sql.rows import LAST_STORABLE_MS
from analytics_sql.statements import query_text
from contracts.deliveries import AttemptOutcome, DeliveryAttempt, DeliveryCause, WebhookTarget
from contracts.errors import InvalidInputError
from contracts.ids import NIL_UUID, uuid_unix_ms
from contracts.records import encode
from contracts.webhooks import EventName

_COLUMN_TYPES = {
    "user_id": "UUID",
    "webhook_id": "UUID",
    "alert_id": "UUID",
    "delivery_id": "UUID",
    "requested_ms": "UInt64",
    "id": "UUID",
    "endpoint": "String",
    "event_id": "UUID",
    "event": "LowCardinality(String)",
    "cause": "LowCardinality(String)",
    "occurred": "DateTime64(3, 'UTC')",
    "created": "DateTime64(3, 'UTC')",
    "number": "UInt16",
    "started": "DateTime64(3, 'UTC')",
    "duration_ms": "UInt32",
    "outcome": "LowCardinality(String)",
    "status": "UInt16",
    "error": "LowCardinality(String)",
    "next_attempt": "DateTime64(3, 'UTC')",
    "delivery": "String",
}
_MOST_STATUS = 65_535
# How the fan-out names an address; all else is a URL.
_MAIL_ENDPOINT = "email-"


class DeliveryChannel(StrEnum):
    """What a delivery goes through."""

    HTTP = "http"
    EMAIL = "email"


@dataclass(frozen=True, kw_only=True)
class DeliverySummary:
    """A delivery with what its last attempt came to. Times are Unix ms, UTC."""

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
class DeliveryPlace:
    """Whose deliveries: those to an owner's webhook, or an alert's own notifications."""

    user_id: UUID
    webhook_id: UUID = NIL_UUID
    alert_id: UUID = NIL_UUID


@dataclass(frozen=True, kw_only=True)
class DeliveryFilter:
    """Which deliveries are wanted: ``from_ms`` by the event's time, ``before_ms`` by the last try.

    Times are Unix ms, UTC.
    """

    place: DeliveryPlace
    from_ms: int
    outcomes: tuple[AttemptOutcome, ...] = ()
    before_ms: int | None = None


@dataclass(frozen=True, kw_only=True)
class WebhookSpan:
    """Which events of a time were to reach an owner's webhook.

    They happened from ``from_ms`` (inclusive) to ``to_ms`` (exclusive; Unix ms, UTC).
    """

    user_id: UUID
    webhook_id: UUID
    events: tuple[EventName, ...]
    from_ms: int
    to_ms: int


def check_attempt(attempt: DeliveryAttempt) -> DeliveryAttempt:
    """Return an attempt that the table can hold.

    Raises:
        InvalidInputError: a time that it cannot hold.
    """
    delivery = attempt.delivery
    times = (delivery.occurred_ms, delivery.created_ms, attempt.started_ms)
    if not all(0 <= each < LAST_STORABLE_MS for each in (*times, attempt.next_attempt_ms or 0)):
        raise InvalidInputError("a time beyond the table", code="time_out_of_range")
    return attempt


async def insert_attempts(client: AsyncClient, attempts: Sequence[DeliveryAttempt]) -> None:
    """Write attempts; when this returns they are stored. One written before is the same row.

    Raises:
        TransientError: ClickHouse is away or busy: the same rows may be written again.
    """
    rows = [_values(attempt) for attempt in attempts]
    await insert_values(client, "delivery_attempts", _COLUMN_TYPES, rows)


async def list_deliveries(
    client: AsyncClient, wanted: DeliveryFilter, limit: int
) -> tuple[DeliverySummary, ...]:
    """Return at most ``limit`` deliveries, the latest tried first.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    before_ms = LAST_STORABLE_MS if wanted.before_ms is None else wanted.before_ms
    parameters = {
        **_place(wanted.place),
        "from_ms": wanted.from_ms,
        "outcomes": [outcome.value for outcome in wanted.outcomes],
        "before_ms": before_ms,
        "limit": limit,
    }
    with clickhouse_errors():
        result = await client.query(query_text("deliveries_to_place"), parameters=parameters)
    return tuple(_summary(row) for row in result.named_results())


async def delivery_content(
    client: AsyncClient, place: DeliveryPlace, delivery_id: UUID
) -> bytes | None:
    """Return the encoded record of a delivery: empty past retention, None for an unknown one.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    occurred_ms = uuid_unix_ms(delivery_id)
    if occurred_ms >= LAST_STORABLE_MS:
        return None
    parameters = {
        **_place(place),
        "delivery_id": delivery_id,
        "occurred_ms": occurred_ms,
    }
    with clickhouse_errors():
        result = await client.query(query_text("delivery_content"), parameters=parameters)
    return str(result.result_rows[0][0]).encode() if result.result_rows else None


async def deliveries_between(
    client: AsyncClient, span: WebhookSpan, limit: int
) -> tuple[bytes, ...]:
    """Return the encoded records of at most ``limit`` events of a span, in order.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    parameters = {
        "user_id": span.user_id,
        "webhook_id": span.webhook_id,
        "events": [event.value for event in span.events],
        "from_ms": span.from_ms,
        "to_ms": span.to_ms,
        "limit": limit,
    }
    with clickhouse_errors():
        result = await client.query(query_text("deliveries_between"), parameters=parameters)
    return tuple(str(row[0]).encode() for row in result.result_rows)


def _place(place: DeliveryPlace) -> dict[str, object]:
    return {
        "user_id": place.user_id,
        "webhook_id": place.webhook_id,
        "alert_id": place.alert_id,
    }


def _values(attempt: DeliveryAttempt) -> tuple[object, ...]:
    delivery, target = attempt.delivery, attempt.delivery.target
    status = attempt.status or 0
    return (
        delivery.owner_id,
        target.webhook_id if isinstance(target, WebhookTarget) else NIL_UUID,
        NIL_UUID if isinstance(target, WebhookTarget) else target.alert_id,
        delivery.id,
        delivery.requested_ms,
        attempt.id,
        delivery.endpoint,
        delivery.event_id,
        delivery.event.value,
        delivery.cause.value,
        delivery.occurred_ms,
        delivery.created_ms,
        attempt.number,
        attempt.started_ms,
        attempt.duration_ms,
        attempt.outcome.value,
        status if 0 <= status <= _MOST_STATUS else 0,
        attempt.error or "",
        attempt.next_attempt_ms or 0,
        encode(delivery).decode() if has_content(delivery) else "",
    )


def _channel(endpoint: str) -> DeliveryChannel:
    is_mail = endpoint.startswith(_MAIL_ENDPOINT)
    return DeliveryChannel.EMAIL if is_mail else DeliveryChannel.HTTP


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
