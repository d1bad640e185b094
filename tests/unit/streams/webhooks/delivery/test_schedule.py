"""When a delivery is retried, and when it fails."""

import pytest

from common.records.deliveries import AttemptOutcome
from streams.webhooks.delivery.schedule import SendKind, SendResult, decide, kind_of_status
from streams.webhooks.settings import WebhooksSettings

PAUSES = WebhooksSettings.model_fields["webhook_retry_seconds"].default
FAILED = SendResult(kind=SendKind.FAILED)


@pytest.mark.parametrize("jitter", [-1.0, 0.0, 1.0])
def test_the_schedule_is_the_published_one(jitter: float) -> None:
    wanted = [5, 30, 2 * 60, 10 * 60, 3600, 3 * 3600, 8 * 3600, 24 * 3600]
    for attempts, pause in enumerate(wanted, start=1):
        verdict = decide(FAILED, attempts=attempts, now_ms=0, pauses_seconds=PAUSES, jitter=jitter)
        assert verdict.next_attempt_ms == round(pause * (1 + 0.2 * jitter) * 1000)
    last = decide(FAILED, attempts=9, now_ms=0, pauses_seconds=PAUSES)
    assert last.outcome is AttemptOutcome.DEAD


@pytest.mark.parametrize(("asked", "waited"), [(None, 5), (1, 5), (60, 60), (10**8, 86_400)])
def test_retry_after_makes_a_pause_longer_only(asked: float | None, waited: int) -> None:
    result = SendResult(kind=SendKind.FAILED, retry_after_seconds=asked)
    verdict = decide(result, attempts=1, now_ms=7, pauses_seconds=PAUSES, jitter=0)

    assert verdict.next_attempt_ms == 7 + waited * 1000


def test_each_status_but_success_redirects_and_410_is_retried() -> None:
    kinds = {status: kind_of_status(status) for status in range(200, 600)}

    accepted = {status for status, kind in kinds.items() if kind is SendKind.ACCEPTED}
    final = {status for status, kind in kinds.items() if kind is SendKind.REFUSED}
    assert accepted == set(range(200, 300))
    assert final == {*range(300, 400), 410}
