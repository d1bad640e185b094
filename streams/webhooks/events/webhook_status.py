"""Derives the status of each webhook from attempts, and disables webhooks that always fail."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import faust
import msgspec
import structlog

from common.records.codec import encode
from common.records.deliveries import (
    GONE,
    AttemptOutcome,
    DeliveryAttempt,
    WebhookStatus,
    WebhookTarget,
)
from common.timestamps import format_timestamp
from streams.runtime.app import Event
from streams.runtime.sending import OutgoingMessage, send_all
from streams.runtime.stage_runner import StageRunner
from streams.webhooks.events.subscription_cache import SubscriptionCache

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class AutoDisableRules:
    """A webhook is disabled after ``failures`` consecutive failures over at least ``over_ms``."""

    failures: int
    over_ms: int


def apply_attempt(
    known: WebhookStatus | None,
    attempt: DeliveryAttempt,
    *,
    offset: int,
    revision: int | None,
    rules: AutoDisableRules,
) -> WebhookStatus | None:
    """Return the status after an attempt read at ``offset``, or None if it does not change.

    An attempt that is read twice counts once. ``revision`` is the webhook's current revision, or
    None if the webhook was deleted. An attempt of an earlier revision does not disable the webhook.
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
            status, failure_count=0, given_up_count=0, failing_count=0, failing_since_ms=None
        )
    return _with_failure(status, attempt, revision, rules)


def _with_failure(
    status: WebhookStatus, attempt: DeliveryAttempt, revision: int | None, rules: AutoDisableRules
) -> WebhookStatus:
    since_ms = status.failing_since_ms or attempt.started_ms
    status = msgspec.structs.replace(
        status,
        failure_count=status.failure_count + 1,
        given_up_count=status.given_up_count + (attempt.outcome is AttemptOutcome.DEAD),
        failing_count=status.failing_count + 1,
        failing_since_ms=since_ms,
    )
    reason = _disabled_reason(status, attempt, since_ms, rules)
    is_current = attempt.webhook_revision in (None, revision)
    if revision is None or reason is None or not is_current:
        return status
    return msgspec.structs.replace(
        status,
        disabled_revision=revision,
        disabled_ms=attempt.started_ms,
        disabled_reason=reason,
        # After the webhook is enabled again, its failures are counted from zero.
        failing_count=0,
        failing_since_ms=None,
    )


def _disabled_reason(
    status: WebhookStatus, attempt: DeliveryAttempt, since_ms: int, rules: AutoDisableRules
) -> str | None:
    """Return why an attempt disables its webhook, or None if the webhook stays enabled."""
    if attempt.status == GONE:
        return f"Received status {GONE} (Gone): the receiver accepts no more deliveries."
    if status.failing_count < rules.failures or attempt.started_ms - since_ms < rules.over_ms:
        return None
    return f"All {status.failing_count} attempts since {format_timestamp(since_ms)} have failed."


class WebhookStatusUpdater:
    """Counts attempts in batches, and publishes the webhooks' statuses."""

    def __init__(
        self,
        runner: StageRunner,
        subscriptions: SubscriptionCache,
        topic: faust.TopicT,
        rules: AutoDisableRules,
    ) -> None:
        self._runner = runner
        self._subscriptions = subscriptions
        self._topic = topic
        self._rules = rules

    async def publish_statuses(self, attempts: Sequence[tuple[Event, DeliveryAttempt]]) -> None:
        """Count attempts and publish the changed statuses. Safe to repeat.

        Raises:
            TransientError: Kafka is unavailable. The statuses are unchanged.
        """
        # If a later attempt were counted first, an earlier attempt would also appear to be counted.
        for event in {event.message.partition: event for event, _ in reversed(attempts)}.values():
            self._runner.require_next(event)
        changed: dict[UUID, WebhookStatus] = {}
        for event, attempt in attempts:
            target = attempt.delivery.target
            if isinstance(target, WebhookTarget):
                known = changed.get(target.webhook_id) or self._subscriptions.status(
                    target.webhook_id
                )
                after = self._after(known, attempt, event.message.offset)
                if after is not None:
                    changed[target.webhook_id] = after
        messages = [
            OutgoingMessage(str(key).encode(), encode(after)) for key, after in changed.items()
        ]
        await send_all(self._topic, messages)
        for after in changed.values():
            self._subscriptions.apply_status(after)

    def _after(
        self, known: WebhookStatus | None, attempt: DeliveryAttempt, offset: int
    ) -> WebhookStatus | None:
        target = attempt.delivery.target
        assert isinstance(target, WebhookTarget)
        webhook = self._subscriptions.webhook(target.webhook_id)
        after = apply_attempt(
            known,
            attempt,
            offset=offset,
            revision=None if webhook is None else webhook.revision,
            rules=self._rules,
        )
        if after is not None and after.disabled_ms == attempt.started_ms:
            log.warning(
                "webhook_disabled",
                webhook_id=str(after.webhook_id),
                reason=after.disabled_reason,
            )
        return after
