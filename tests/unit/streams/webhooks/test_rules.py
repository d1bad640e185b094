"""Schedule, signatures, presence and status: plain values in and out."""

import base64
import hashlib
import hmac

import msgspec
import pytest

from contracts.cameras import CameraState, CameraStatus
from contracts.deliveries import AttemptOutcome, DeliveryAttempt, WebhookStatus
from contracts.webhooks import EventName
from streams.common import presence
from streams.webhooks import status
from streams.webhooks.http_sender import retry_after_seconds
from streams.webhooks.schedule import SendKind, SendResult, judge
from streams.webhooks.settings import WebhooksSettings
from streams.webhooks.signing import signature_headers
from tests.records import CAMERAS, OWNER
from tests.unit.streams.webhooks.builders import WEBHOOK, delivery

PAUSES = WebhooksSettings.model_fields["webhook_retry_seconds"].default
FAILED = SendResult(kind=SendKind.FAILED)


@pytest.mark.parametrize("jitter", [-1.0, 0.0, 1.0])
def test_the_schedule_is_the_published_one(jitter: float) -> None:
    wanted = [5, 30, 2 * 60, 10 * 60, 3600, 3 * 3600, 8 * 3600, 24 * 3600]
    for attempts, pause in enumerate(wanted, start=1):
        verdict = judge(FAILED, attempts=attempts, now_ms=0, pauses_seconds=PAUSES, jitter=jitter)
        assert verdict.next_attempt_ms == round(pause * (1 + 0.2 * jitter) * 1000)
    last = judge(FAILED, attempts=9, now_ms=0, pauses_seconds=PAUSES)
    assert last.outcome is AttemptOutcome.DEAD


@pytest.mark.parametrize(("asked", "waited"), [(None, 5), (1, 5), (60, 60), (10**8, 86_400)])
def test_retry_after_makes_a_pause_longer_only(asked: float | None, waited: int) -> None:
    result = SendResult(kind=SendKind.FAILED, retry_after_seconds=asked)
    verdict = judge(result, attempts=1, now_ms=7, pauses_seconds=PAUSES, jitter=0)

    assert verdict.next_attempt_ms == 7 + waited * 1000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("120", 120),
        (" 0 ", 0),
        ("-1", None),
        ("soon", None),
        ("1.5", None),
        ("9" * 400, 999_999_999),
        ("Sat, 21 Nov 2026 10:00:30 GMT", 30),
        ("Sat, 21 Nov 2026 09:00:00 GMT", 0),
        ("²", None),
        ("Wed, 21 Oct 99999999999 07:28:00 GMT", None),
    ],
)
def test_retry_after_as_receivers_write_it(text: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(text, 1_795_255_200) == seconds


def test_the_specifications_own_example() -> None:
    """**Source:** the test vector of the Standard Webhooks libraries."""
    headers = signature_headers(
        b'{"test": 2432232314}',
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp_seconds=1614265330,
        secrets=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert headers["webhook-timestamp"] == "1614265330"


@pytest.mark.parametrize("secret", ["whsec_" + base64.b64encode(b"x" * 32).decode(), "simple!"])
def test_both_signatures_and_those_of_a_previous_secret(secret: str) -> None:
    body = '{"plate":"AB1","camera":"Tür"}'.encode()
    headers = signature_headers(
        body, message_id="m", timestamp_seconds=1_900_000_000, secrets=[secret, "previous"]
    )

    assert headers["X-Signature-256"] == _hex(secret, body)
    assert headers["X-Signature-256-Previous"] == _hex("previous", body)
    new, old = headers["webhook-signature"].split(" ")
    signed = b"m.1900000000." + body
    assert (
        old
        == "v1," + base64.b64encode(hmac.new(b"previous", signed, hashlib.sha256).digest()).decode()
    )
    key = b"x" * 32 if secret.startswith("whsec_") else secret.encode()
    assert new == "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _hex(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _status(state: CameraState, at_ms: int, last_seen_ms: int | None = None) -> CameraStatus:
    return CameraStatus(
        camera_id=CAMERAS[0],
        owner_id=OWNER,
        state=state,
        revision=1,
        worker="w",
        at_ms=at_ms,
        last_seen_ms=last_seen_ms,
    )


def _announced(*statuses: CameraStatus) -> list[EventName]:
    known, told = None, []
    for one in statuses:
        step = presence.advance(known, one, offline_after_ms=15_000)
        known = step.presence
        if step.event is not None:
            told.append(step.event)
    return told


ON, OFF = EventName.CAMERA_ONLINE, EventName.CAMERA_OFFLINE
CONNECTING, ONLINE, OFFLINE, DISABLED = (
    CameraState.CONNECTING,
    CameraState.ONLINE,
    CameraState.OFFLINE,
    CameraState.DISABLED,
)


def test_online_once_and_offline_once() -> None:
    told = _announced(
        _status(CONNECTING, 0),
        _status(ONLINE, 1_000, 1_000),
        _status(ONLINE, 6_000, 6_000),
        _status(OFFLINE, 21_000, 6_000),
        _status(OFFLINE, 26_000, 6_000),
        _status(ONLINE, 30_000, 30_000),
    )

    assert told == [ON, OFF, ON]


def test_a_short_gap_is_no_news() -> None:
    told = _announced(
        _status(ONLINE, 0, 0),
        _status(OFFLINE, 14_999, 0),
        _status(ONLINE, 16_000, 16_000),
    )

    assert told == [ON]


def test_a_dead_worker_is_no_news_but_a_camera_that_stays_away_is() -> None:
    taken_over = (_status(ONLINE, 0, 0), _status(CONNECTING, 30_000))
    assert _announced(*taken_over, _status(ONLINE, 31_000, 31_000)) == [ON]
    assert _announced(*taken_over, _status(OFFLINE, 45_000)) == [ON, OFF]


def test_a_camera_that_was_never_there_or_is_switched_off_is_no_news() -> None:
    assert _announced(_status(CONNECTING, 0), _status(OFFLINE, 15_000)) == []
    told = _announced(_status(ONLINE, 0, 0), _status(DISABLED, 1), _status(ONLINE, 2, 2))
    assert told == [ON, ON]


DAY = 86_400_000
RULES = status.SwitchOffRules(failures=20, over_ms=DAY)


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
        after = status.advance(known, attempt, offset=offset, revision=4, rules=RULES)
        known = after or known
    return known


def test_failures_count_until_a_success() -> None:
    failing = _after(_attempt(1), _attempt(2), _attempt(3, AttemptOutcome.DEAD, 404))
    assert failing is not None
    assert (failing.failure_count, failing.last_delivery_status) == (3, 404)
    well = _after(_attempt(9, AttemptOutcome.DELIVERED, 204), known=failing)
    assert well is not None
    assert (well.failure_count, well.last_delivery_ms, well.last_delivery_status) == (0, 9, 204)


def test_an_attempt_read_again_counts_once() -> None:
    failing = _after(_attempt(1), _attempt(2))
    again = status.advance(failing, _attempt(2), offset=1, revision=4, rules=RULES)

    assert again is None


@pytest.mark.parametrize(
    ("count", "over_ms", "is_off"),
    [(20, DAY, True), (19, DAY, False), (20, DAY - 1, False), (500, DAY // 2, False)],
)
def test_switched_off_after_20_in_a_row_over_a_day(count: int, over_ms: int, is_off: bool) -> None:
    moments = [1 + over_ms * number // (count - 1) for number in range(count)]
    found = _after(*(_attempt(moment) for moment in moments))

    assert found is not None
    assert found.failure_count == count
    assert (found.disabled_revision == 4) is is_off
    assert (found.disabled_reason is not None) is is_off
    if is_off:
        # Switched on again, it has all its chances anew.
        later = _after(_attempt(3 * DAY), known=found)
        assert later == msgspec.structs.replace(
            found,
            attempts_offset=count,
            failure_count=count + 1,
            failing_count=1,
            failing_since_ms=3 * DAY,
            last_delivery_ms=3 * DAY,
        )
