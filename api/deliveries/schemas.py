"""JSON of what was delivered to a webhook, and of what is asked of it."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from analytics_sql.deliveries import (
    AddressedDelivery,
    DeliveryChannel,
    DeliveryCursor,
    DeliveryFilter,
    DeliverySummary,
)
from analytics_sql.rows import LAST_STORABLE_MS
from api.schemas import RequestModel, ResponseModel, Timestamp, json_number
from api.validation.fields import (
    BodyInstant,
    QueryInstant,
    from_unix_ms,
    from_unix_ms_if_any,
    whole_number,
)
from common.records.deliveries import AttemptOutcome, Delivery, DeliveryCause
from common.records.webhooks import EventName

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
_SPAN_MS = 7 * 24 * 3_600_000


class RowLimit(BaseModel):
    """The length of a list of deliveries."""

    model_config = ConfigDict(frozen=True)

    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), BeforeValidator(whole_number)] = Field(
        default=DEFAULT_LIMIT, description="Most rows."
    )


class DeliveryQuery(RowLimit):
    """The conditions of a list of deliveries."""

    outcome: AttemptOutcome | None = Field(
        default=None, description="Only those whose last attempt ended so."
    )
    from_: QueryInstant | None = Field(
        default=None,
        alias="from",
        description="Only of events that happened then or later; seven days ago unless given.",
    )
    before: QueryInstant | None = Field(
        default=None, description="Only those last tried before this moment."
    )

    def filter_of(self, cursor: DeliveryCursor, *, now_ms: int) -> DeliveryFilter:
        """Return what is asked of the store; an open span would read all that it has."""
        from_ms = now_ms - _SPAN_MS if self.from_ is None else self.from_
        return DeliveryFilter(
            cursor=cursor,
            # Any date-time of ISO 8601 may be asked for; nothing is stored from beyond these.
            from_ms=min(max(from_ms, 0), LAST_STORABLE_MS),
            outcomes=() if self.outcome is None else (self.outcome,),
            before_ms=self.before,
        )


class SendTest(RequestModel):
    """A made-up event to send; the first that the webhook wants unless it is named."""

    event: EventName | None = Field(
        default=None, description="The event to make up; null: the first that the webhook wants."
    )


class NotificationTest(RequestModel):
    """The notification of an alert that is to be tried, counted from 0 in the order of reads."""

    notification: Annotated[int, Field(ge=0), BeforeValidator(json_number)] = Field(
        default=0, description="Its place among the notifications, from 0.", examples=[0]
    )


class Redeliver(RequestModel):
    """Nothing more is asked."""


NO_BODY = Redeliver()
"""Stands for a body that is not sent."""


class Replay(RequestModel):
    """The time whose events are to be sent again: ``from`` inclusive, ``to`` exclusive."""

    from_: BodyInstant = Field(alias="from", description="Events from this moment on; UTC.")
    to: BodyInstant = Field(description="Events before this moment; UTC.")


class DeliveryBody(ResponseModel):
    """A delivery with what its last attempt came to."""

    id: str = Field(json_schema_extra={"format": "uuid"}, description="Id of the delivery.")
    event_id: str = Field(
        json_schema_extra={"format": "uuid"},
        description="Id of the event: the same on every attempt and for every receiver.",
    )
    event: EventName = Field(description="The event's name.")
    channel: DeliveryChannel = Field(description="The way that it goes.")
    cause: DeliveryCause = Field(description="Why it was last sent.")
    outcome: AttemptOutcome = Field(description="What the last attempt came to.")
    attempts: int = Field(ge=0, description="Attempts so far.", examples=[1])
    created_at: Timestamp = Field(description="When it was made; UTC.")
    last_attempt_at: Timestamp = Field(description="When it was last tried; UTC.")
    last_duration_ms: int = Field(
        ge=0, description="Milliseconds that the last attempt took.", examples=[84]
    )
    last_status: int | None = Field(
        description="HTTP status, null where there was no answer.", ge=100, le=599, examples=[200]
    )
    last_error: str | None = Field(
        description="What was wrong last, in a sentence; null: nothing.",
        examples=["The camera does not answer."],
    )
    next_attempt_at: Timestamp | None = Field(
        description="When it is tried again; UTC. Null: not any more."
    )


class DeliveryList(ResponseModel):
    """Deliveries, the latest tried first."""

    deliveries: list[DeliveryBody] = Field(description="The deliveries.")


class RecognitionDeliveryBody(DeliveryBody):
    """A delivery of a recognition and its target."""

    webhook_id: str | None = Field(
        json_schema_extra={"format": "uuid"},
        description="The webhook; null where it is an alert's own notification.",
    )
    alert_id: str | None = Field(
        json_schema_extra={"format": "uuid"},
        description="The alert whose own notification it is; null where a webhook got it.",
    )


class RecognitionDeliveryList(ResponseModel):
    """Deliveries of a recognition, the latest tried first."""

    deliveries: list[RecognitionDeliveryBody] = Field(description="The deliveries.")


class QueuedBody(ResponseModel):
    """A delivery that is about to be sent."""

    id: str = Field(json_schema_extra={"format": "uuid"}, description="Id of the delivery.")
    event_id: str = Field(
        json_schema_extra={"format": "uuid"},
        description="Id of the event: the same on every attempt and for every receiver.",
    )
    event: EventName = Field(description="The event's name.")
    cause: DeliveryCause = Field(description="Why it is sent.")


class QueuedAnswer(ResponseModel):
    """A delivery that is about to be sent; the list of deliveries tells how it went."""

    delivery: QueuedBody = Field(description="The delivery.")


class QueuedList(ResponseModel):
    """Deliveries that are about to be sent, one for each address."""

    deliveries: list[QueuedBody] = Field(description="The deliveries.")


class ReplayAnswer(ResponseModel):
    """The number of events that are about to be sent again."""

    queued: int = Field(ge=0, description="Events that are sent again.", examples=[17])


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
    """Return the JSON form of a delivery that is about to be sent."""
    return QueuedAnswer(delivery=_queued_body(delivery))


def queued_list(deliveries: Iterable[Delivery]) -> QueuedList:
    """Return the JSON form of deliveries that are about to be sent."""
    return QueuedList(deliveries=list(map(_queued_body, deliveries)))


def _queued_body(delivery: Delivery) -> QueuedBody:
    return QueuedBody(
        id=str(delivery.id),
        event_id=str(delivery.event_id),
        event=delivery.event,
        cause=delivery.cause,
    )
