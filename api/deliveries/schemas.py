"""Response bodies for deliveries, and request bodies to test, redeliver and replay."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import BeforeValidator, Field

from analytics_sql.deliveries import (
    AddressedDelivery,
    DeliveryChannel,
    DeliveryCursor,
    DeliveryFilter,
    DeliverySummary,
)
from analytics_sql.rows import LAST_STORABLE_MS
from api.recognitions.schemas import DEFAULT_LIMIT, Limit
from api.schemas import QueryModel, RequestModel, ResponseModel, Timestamp, json_number
from api.validation.fields import (
    BodyInstant,
    QueryInstant,
    from_unix_ms,
    from_unix_ms_if_any,
)
from common.records.deliveries import AttemptOutcome, Delivery, DeliveryCause
from common.records.webhooks import EventName

_SPAN_MS = 7 * 24 * 3_600_000


class RowLimit(QueryModel):
    """The maximum length of a list of deliveries."""

    limit: Limit = Field(
        default=DEFAULT_LIMIT, description="Maximum number of deliveries to return."
    )


class DeliveryQuery(RowLimit):
    """The filter of a list of deliveries."""

    outcome: AttemptOutcome | None = Field(
        default=None, description="Only deliveries whose last attempt had this outcome."
    )
    from_: QueryInstant | None = Field(
        default=None,
        alias="from",
        description="Only events at or after this time. Defaults to seven days ago.",
    )
    before: QueryInstant | None = Field(
        default=None, description="Only deliveries last attempted before this time."
    )

    def filter_of(self, cursor: DeliveryCursor, *, now_ms: int) -> DeliveryFilter:
        """Return the store's filter. A start is always set, to avoid reading all deliveries."""
        from_ms = now_ms - _SPAN_MS if self.from_ is None else self.from_
        return DeliveryFilter(
            cursor=cursor,
            # A query can name any ISO 8601 date-time, but nothing is stored outside this range.
            from_ms=min(max(from_ms, 0), LAST_STORABLE_MS),
            outcomes=() if self.outcome is None else (self.outcome,),
            before_ms=self.before,
        )


class SendTest(RequestModel):
    """A test event to send. Defaults to the first event to which the webhook subscribes."""

    event: EventName | None = Field(
        default=None, description="Event to send; null: the webhook's first event."
    )


class NotificationTest(RequestModel):
    """The alert notification to test, by its index (from 0) in `notifications`."""

    notification: Annotated[int, Field(ge=0), BeforeValidator(json_number)] = Field(
        default=0, description="Index in `notifications`, starting at 0.", examples=[0]
    )


class Redeliver(RequestModel):
    """An empty object. Redelivering a delivery takes no parameters."""


NO_BODY = Redeliver()
"""The value of an omitted request body."""


class Replay(RequestModel):
    """The time range of the events to replay."""

    from_: BodyInstant = Field(alias="from", description="Start of the range, inclusive (UTC).")
    to: BodyInstant = Field(description="End of the range, exclusive (UTC).")


class _OfEvent(ResponseModel):
    id: str = Field(json_schema_extra={"format": "uuid"}, description="ID of the delivery.")
    event_id: str = Field(
        json_schema_extra={"format": "uuid"},
        description="ID of the event; identical for every attempt and every receiver.",
    )
    event: EventName = Field(description="Event name.")


class DeliveryBody(_OfEvent):
    """A delivery and the result of its last attempt."""

    channel: DeliveryChannel = Field(description="Channel of the delivery.")
    cause: DeliveryCause = Field(description="Why the last attempt was made.")
    outcome: AttemptOutcome = Field(description="Outcome of the last attempt.")
    attempts: int = Field(ge=0, description="Number of attempts so far.", examples=[1])
    created_at: Timestamp = Field(description="Creation time (UTC).")
    last_attempt_at: Timestamp = Field(description="Time of the last attempt (UTC).")
    last_duration_ms: int = Field(
        ge=0, description="Duration of the last attempt in milliseconds.", examples=[84]
    )
    last_status: int | None = Field(
        description="HTTP status; null if there was no response.", ge=100, le=599, examples=[200]
    )
    last_error: str | None = Field(
        description="Last error message, for people; null if there was none.",
        examples=["Received status 503."],
    )
    next_attempt_at: Timestamp | None = Field(description="Next attempt time (UTC); null: none.")


class DeliveryList(ResponseModel):
    """Deliveries, most recently attempted first."""

    deliveries: list[DeliveryBody] = Field(description="The deliveries.")


class RecognitionDeliveryBody(DeliveryBody):
    """A delivery for a recognition, and its receiver."""

    webhook_id: str | None = Field(
        json_schema_extra={"format": "uuid"},
        description="ID of the webhook; null for an alert notification.",
    )
    alert_id: str | None = Field(
        json_schema_extra={"format": "uuid"},
        description="ID of the alert; null for a webhook delivery.",
    )


class RecognitionDeliveryList(ResponseModel):
    """Deliveries for a recognition, most recently attempted first."""

    deliveries: list[RecognitionDeliveryBody] = Field(description="The deliveries.")


class QueuedBody(_OfEvent):
    """A queued delivery."""

    cause: DeliveryCause = Field(description="Reason for the delivery.")


class QueuedAnswer(ResponseModel):
    """The queued delivery. The outcome appears in the list of deliveries."""

    delivery: QueuedBody = Field(description="The delivery.")


class QueuedList(ResponseModel):
    """The queued deliveries, one per address."""

    deliveries: list[QueuedBody] = Field(description="The deliveries.")


class ReplayAnswer(ResponseModel):
    """Number of events queued for sending."""

    queued: int = Field(ge=0, description="Number of events queued for sending.", examples=[17])


def recognition_delivery_body(delivery: AddressedDelivery) -> RecognitionDeliveryBody:
    """Return the JSON form of a delivery with its target."""
    return RecognitionDeliveryBody(
        **delivery_body(delivery.summary).model_dump(),
        webhook_id=None if delivery.webhook_id is None else str(delivery.webhook_id),
        alert_id=None if delivery.alert_id is None else str(delivery.alert_id),
    )


def delivery_body(summary: DeliverySummary) -> DeliveryBody:
    """Return the JSON form of a delivery."""
    next_ms = summary.next_attempt_ms
    is_retrying = summary.outcome is AttemptOutcome.RETRYING
    return DeliveryBody(
        id=str(summary.id),
        event_id=str(summary.event_id),
        event=summary.event,
        channel=summary.channel,
        cause=summary.cause,
        outcome=summary.outcome,
        attempts=summary.attempts,
        created_at=from_unix_ms(summary.created_ms),
        last_attempt_at=from_unix_ms(summary.last_attempt_ms),
        last_duration_ms=summary.last_duration_ms,
        last_status=summary.status,
        last_error=summary.error,
        next_attempt_at=from_unix_ms_if_any(next_ms if is_retrying else None),
    )


def queued_answer(delivery: Delivery) -> QueuedAnswer:
    """Return the JSON form of a queued delivery."""
    return QueuedAnswer(delivery=_queued_body(delivery))


def queued_list(deliveries: Iterable[Delivery]) -> QueuedList:
    """Return the JSON form of queued deliveries."""
    return QueuedList(deliveries=list(map(_queued_body, deliveries)))


def _queued_body(delivery: Delivery) -> QueuedBody:
    return QueuedBody(
        id=str(delivery.id),
        event_id=str(delivery.event_id),
        event=delivery.event,
        cause=delivery.cause,
    )
