"""Success and failure of a webhook's deliveries, and when the webhook is disabled."""

from typing import Any

import msgspec
import pytest

from common.records.deliveries import AttemptOutcome, DeliveryAttempt, WebhookStatus
from streams.webhooks.events.subscription_cache import SubscriptionCache
from streams.webhooks.events.webhook_status import (
    AutoDisableRules,
    WebhookStatusUpdater,
    apply_attempt,
)
from tests.unit.streams.runtime.fakes import FakeApp, FakeTopic, event, guard_of
from tests.unit.streams.webhooks.builders import BOX, WEBHOOK, delivery

DAY = 86_400_000
RULES = AutoDisableRules(failures=20, over_ms=DAY)


def _attempt(
    started_ms: int, outcome: AttemptOutcome = AttemptOutcome.RETRYING, code: int | None = 503
) -> DeliveryAttempt:
    return DeliveryAttempt(
        id=WEBHOOK,
        delivery=delivery(1),
        number=1,
        started_ms=started_ms,
        duration_ms=1,
        outcome=outcome,
        status=code,
    )


def _after(*attempts: DeliveryAttempt, known: WebhookStatus | None = None) -> WebhookStatus | None:
    first = 0 if known is None else known.attempts_offset + 1
    for offset, attempt in enumerate(attempts, start=first):
        after = apply_attempt(known, attempt, offset=offset, revision=4, rules=RULES)
        known = after or known
    return known


def test_failures_count_until_a_success() -> None:
    failing = _after(_attempt(1), _attempt(2), _attempt(3, AttemptOutcome.DEAD, 404))
    assert failing is not None
    assert (failing.failure_count, failing.given_up_count) == (3, 1)
    assert failing.last_delivery_status == 404
    well = _after(_attempt(9, AttemptOutcome.DELIVERED, 204), known=failing)
    assert well is not None
    assert well.given_up_count == 0
    assert (well.failure_count, well.last_delivery_ms, well.last_delivery_status) == (0, 9, 204)


def test_an_attempt_read_again_counts_once() -> None:
    failing = _after(_attempt(1), _attempt(2))
    again = apply_attempt(failing, _attempt(2), offset=1, revision=4, rules=RULES)

    assert again is None


@pytest.mark.parametrize("code", [404, 503])
@pytest.mark.parametrize(
    ("count", "over_ms", "is_off"),
    [(20, DAY, True), (19, DAY, False), (20, DAY - 1, False), (500, DAY // 2, False)],
)
def test_disabled_after_20_failures_in_a_row_over_a_day(
    count: int, over_ms: int, is_off: bool, code: int
) -> None:
    times = [1 + over_ms * number // (count - 1) for number in range(count)]
    found = _after(*(_attempt(at_ms, code=code) for at_ms in times))

    assert found is not None
    assert found.failure_count == count
    assert (found.disabled_revision == 4) is is_off
    assert (found.disabled_reason is not None) is is_off
    if is_off:
        # After it is enabled again, the webhook starts without failures.
        later = _after(_attempt(3 * DAY, code=code), known=found)
        assert later == msgspec.structs.replace(
            found,
            attempts_offset=count,
            failure_count=count + 1,
            failing_count=1,
            failing_since_ms=3 * DAY,
            last_delivery_ms=3 * DAY,
        )


def test_410_disables_the_webhook_at_once() -> None:
    found = _after(_attempt(5, AttemptOutcome.DEAD, 410))

    assert found is not None
    assert (found.disabled_revision, found.disabled_ms) == (4, 5)
    assert (
        found.disabled_reason
        == "Received status 410 (Gone): the receiver accepts no more deliveries."
    )


@pytest.mark.parametrize(("revision", "disables"), [(None, True), (4, True), (3, False)])
def test_a_late_410_does_not_disable_a_webhook_that_was_changed(
    revision: int | None, disables: bool
) -> None:
    gone = _attempt(5, AttemptOutcome.DEAD, 410)
    found = _after(msgspec.structs.replace(gone, webhook_revision=revision))

    assert found is not None
    assert found.failure_count == 1
    assert (found.disabled_revision == 4) is disables


@pytest.mark.parametrize("code", [301, 404, 503])
def test_no_other_answer_disables_it_at_once(code: int) -> None:
    found = _after(_attempt(5, AttemptOutcome.DEAD, code))

    assert found is not None
    assert found.disabled_revision is None


@pytest.mark.parametrize("is_earlier_done", [False, True])
async def test_an_attempt_does_not_overtake_a_failed_one(is_earlier_done: bool) -> None:
    app, subscriptions = FakeApp(), SubscriptionCache(BOX)
    runner = guard_of(app)
    rules = AutoDisableRules(failures=20, over_ms=86_400_000)
    updater = WebhookStatusUpdater(runner, subscriptions, FakeTopic().as_topic(), rules)
    earlier, later = event(7), event(8)
    app.deliver(earlier, later)
    if is_earlier_done:
        app.release(earlier)

    async def take(events: Any) -> None:
        await updater.publish_statuses([(one, _attempt(5)) for one in events])

    await runner.run_batch([later], take)

    assert (subscriptions.status(WEBHOOK) is not None) is is_earlier_done
    assert (8 in app.released) is is_earlier_done
