"""What is told of an attempt, and a line in the log about it. Pure but for the log."""

from uuid import UUID

import structlog

from contracts.deliveries import AttemptOutcome, Delivery, DeliveryAttempt
from contracts.ids import derived_uuid
from streams.webhooks.schedule import SendResult, Verdict

log = structlog.get_logger()


def attempt_of(
    delivery: Delivery,
    number: int,
    result: SendResult,
    verdict: Verdict,
    started_ms: int,
    seconds: float,
) -> DeliveryAttempt:
    """Return what is told of a delivery's attempt; its id is the same whoever makes it."""
    return DeliveryAttempt(
        id=_attempt_id(delivery, number),
        delivery=delivery,
        number=number,
        started_ms=started_ms,
        duration_ms=round(seconds * 1000),
        outcome=verdict.outcome,
        status=result.status,
        error=result.error,
        next_attempt_ms=verdict.next_attempt_ms,
    )


def log_attempt(attempt: DeliveryAttempt) -> None:
    """Write a line about an attempt that has ended; what went well is told at debug level only."""
    delivery = attempt.delivery
    # A thousand lines a second would cost more than the deliveries.
    write = log.debug if attempt.outcome is AttemptOutcome.DELIVERED else log.info
    write(
        "delivery_attempted",
        delivery_id=str(delivery.id),
        delivery_event=delivery.event.value,
        endpoint=delivery.endpoint,
        number=attempt.number,
        outcome=attempt.outcome.value,
        status=attempt.status,
        error=attempt.error,
        duration_ms=attempt.duration_ms,
    )


def _attempt_id(delivery: Delivery, number: int) -> UUID:
    return derived_uuid(
        delivery.occurred_ms,
        "attempt",
        str(delivery.id),
        str(delivery.requested_ms),
        str(number),
    )
