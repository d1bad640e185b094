"""Decides whether attempts are retried, and creates their records. The only I/O is logging."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import structlog

from common.records.deliveries import GONE, AttemptOutcome, Delivery, DeliveryAttempt, attempt_id
from common.telemetry.tracing import log_fields, parse_traceparent

_JITTER = 0.2
_MAX_RETRY_AFTER_SECONDS = 86_400.0


class SendKind(StrEnum):
    """The kinds of results of an attempt that the schedule distinguishes."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    """A retry may succeed."""
    REFUSED = "refused"
    """A retry cannot succeed."""
    CANCELLED = "cancelled"
    """The receiver no longer exists."""


@dataclass(frozen=True, kw_only=True)
class SendResult:
    """The result of an attempt. ``error`` is a sentence for people, without secrets.

    ``retry_after_seconds`` is the wait requested by the receiver. ``is_held_back``: one of our
    limits prevented sending. ``location`` is the Location header of a redirect, as sent by the
    receiver. ``webhook_revision`` is the revision of the webhook that was used.
    """

    kind: SendKind
    status: int | None = None
    error: str | None = None
    retry_after_seconds: float | None = None
    is_held_back: bool = False
    location: str | None = None
    webhook_revision: int | None = None


@dataclass(frozen=True)
class AttemptDecision:
    """The outcome of an attempt, and the time of the next attempt (Unix ms), if one follows."""

    outcome: AttemptOutcome
    next_attempt_ms: int | None = None


_FINAL = {
    SendKind.ACCEPTED: AttemptOutcome.DELIVERED,
    SendKind.REFUSED: AttemptOutcome.DEAD,
    SendKind.CANCELLED: AttemptOutcome.CANCELLED,
}


def kind_of_status(status: int) -> SendKind:
    """Return the kind of result for an HTTP status.

    Any 2xx is success. A redirect and 410 (Gone) are final. All other statuses are retried: while a
    receiver restarts, the proxy in front of the receiver may return any of these.
    """
    if 200 <= status < 300:
        return SendKind.ACCEPTED
    if 300 <= status < 400 or status == GONE:
        return SendKind.REFUSED
    return SendKind.FAILED


def decide(
    result: SendResult,
    *,
    attempts: int,
    now_ms: int,
    pauses_seconds: Sequence[float],
    jitter: float | None = None,
) -> AttemptDecision:
    """Return how a delivery continues after ``attempts`` attempts, including the current attempt.

    ``pauses_seconds`` are the pauses between attempts. A receiver's Retry-After can extend a pause
    up to a day, but not shorten it. ``jitter`` is -1..1, random unless given.
    """
    if result.kind in _FINAL:
        return AttemptDecision(_FINAL[result.kind])
    if attempts > len(pauses_seconds):
        return AttemptDecision(AttemptOutcome.DEAD)
    swing = random.uniform(-1, 1) if jitter is None else jitter
    pause = pauses_seconds[attempts - 1] * (1 + _JITTER * swing)
    asked = min(result.retry_after_seconds or 0.0, _MAX_RETRY_AFTER_SECONDS)
    return AttemptDecision(AttemptOutcome.RETRYING, now_ms + round(max(pause, asked) * 1000))


log = structlog.get_logger()


def attempt_record(
    delivery: Delivery,
    number: int,
    result: SendResult,
    decision: AttemptDecision,
    started_ms: int,
    seconds: float,
) -> DeliveryAttempt:
    """Return the record of an attempt. The id of the record does not depend on the worker."""
    return DeliveryAttempt(
        id=attempt_id(delivery, number),
        delivery=delivery,
        number=number,
        started_ms=started_ms,
        duration_ms=round(seconds * 1000),
        outcome=decision.outcome,
        status=result.status,
        error=result.error,
        next_attempt_ms=decision.next_attempt_ms,
        webhook_revision=result.webhook_revision,
    )


def log_attempt(attempt: DeliveryAttempt) -> None:
    """Log an attempt that has ended, at debug level if it succeeded."""
    delivery = attempt.delivery
    # A thousand log lines per second would take more resources than the deliveries.
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
        **log_fields(parse_traceparent(delivery.trace)),
    )
