"""How deliveries to a webhook go, from its attempts. Pure."""

from dataclasses import dataclass

import msgspec

from contracts.deliveries import (
    AttemptOutcome,
    DeliveryAttempt,
    WebhookStatus,
    WebhookTarget,
)
from contracts.moments import format_timestamp


@dataclass(frozen=True, kw_only=True)
class SwitchOffRules:
    """So many failures in a row, over at least so long, switch a webhook off."""

    failures: int
    over_ms: int


def advance(
    known: WebhookStatus | None,
    attempt: DeliveryAttempt,
    *,
    offset: int,
    revision: int | None,
    rules: SwitchOffRules,
) -> WebhookStatus | None:
    """Take in one attempt, read at ``offset`` of its partition; None where it changes nothing.

    The same attempt read twice counts once. ``revision`` is that of the webhook now, None where it
    is gone.
    """
    target = attempt.delivery.target
    if not isinstance(target, WebhookTarget) or attempt.outcome is AttemptOutcome.CANCELLED:
        return None
    if known is not None and offset <= known.attempts_offset:
        return None
    status = known or WebhookStatus(
        webhook_id=target.webhook_id,
        owner_id=attempt.delivery.owner_id,
        attempts_offset=offset,
    )
    status = msgspec.structs.replace(
        status,
        attempts_offset=offset,
        last_delivery_ms=attempt.started_ms,
        last_delivery_status=attempt.status,
    )
    if attempt.outcome is AttemptOutcome.DELIVERED:
        return msgspec.structs.replace(
            status, failure_count=0, failing_count=0, failing_since_ms=None
        )
    return _with_failure(status, attempt, revision, rules)


def _with_failure(
    status: WebhookStatus, attempt: DeliveryAttempt, revision: int | None, rules: SwitchOffRules
) -> WebhookStatus:
    since_ms = status.failing_since_ms or attempt.started_ms
    status = msgspec.structs.replace(
        status,
        failure_count=status.failure_count + 1,
        failing_count=status.failing_count + 1,
        failing_since_ms=since_ms,
    )
    lasts_long = attempt.started_ms - since_ms >= rules.over_ms
    if revision is None or status.failing_count < rules.failures or not lasts_long:
        return status
    return msgspec.structs.replace(
        status,
        disabled_revision=revision,
        disabled_ms=attempt.started_ms,
        disabled_reason=(
            f"{status.failing_count} attempts in a row failed since {format_timestamp(since_ms)}."
        ),
        # Once it is switched on again, it has all its chances anew.
        failing_count=0,
        failing_since_ms=None,
    )
