"""When a delivery is tried again, and when it is given up. Pure."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from contracts.deliveries import AttemptOutcome

_JITTER = 0.2
_LONGEST_RETRY_AFTER_SECONDS = 86_400.0
_RETRIED_STATUSES = frozenset({408, 425, 429})


class SendKind(StrEnum):
    """What an attempt came to."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    """Another try may go better."""
    REFUSED = "refused"
    """It will never go better."""
    CANCELLED = "cancelled"
    """There is nobody to send to any more."""


@dataclass(frozen=True, kw_only=True)
class SendResult:
    """What an attempt came to; ``error`` is a sentence for a person, without secrets.

    ``retry_after_seconds`` is what the receiver asked for.
    """

    kind: SendKind
    status: int | None = None
    error: str | None = None
    retry_after_seconds: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What becomes of a delivery; ``next_attempt_ms`` is set where it is tried again."""

    outcome: AttemptOutcome
    next_attempt_ms: int | None = None


_FINAL = {
    SendKind.ACCEPTED: AttemptOutcome.DELIVERED,
    SendKind.REFUSED: AttemptOutcome.DEAD,
    SendKind.CANCELLED: AttemptOutcome.CANCELLED,
}


def kind_of_status(status: int) -> SendKind:
    """Return what an HTTP status means: any 2xx is success, some are worth another try."""
    if 200 <= status < 300:
        return SendKind.ACCEPTED
    if status in _RETRIED_STATUSES or status >= 500:
        return SendKind.FAILED
    return SendKind.REFUSED


def judge(
    result: SendResult,
    *,
    attempts: int,
    now_ms: int,
    pauses_seconds: Sequence[float],
    jitter: float | None = None,
) -> Verdict:
    """Return what becomes of a delivery after so many ``attempts``, this one included.

    ``pauses_seconds`` lie between the attempts. A receiver's Retry-After makes a pause longer, up
    to a day, never shorter. ``jitter`` is -1..1, random unless given.
    """
    if result.kind in _FINAL:
        return Verdict(_FINAL[result.kind])
    if attempts > len(pauses_seconds):
        return Verdict(AttemptOutcome.DEAD)
    swing = random.uniform(-1, 1) if jitter is None else jitter
    pause = pauses_seconds[attempts - 1] * (1 + _JITTER * swing)
    asked = min(result.retry_after_seconds or 0.0, _LONGEST_RETRY_AFTER_SECONDS)
    return Verdict(AttemptOutcome.RETRYING, now_ms + round(max(pause, asked) * 1000))
