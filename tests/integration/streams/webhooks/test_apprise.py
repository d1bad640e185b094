"""Notification services over real HTTP: what they receive, and how failures are handled."""

import asyncio
import time
from collections.abc import Sequence

import msgspec
import pytest

from common.mail.rate_limit import HourlyLimits
from common.networks import parse_networks
from common.records.alerts import TriggerPhase
from common.records.deliveries import AppriseTarget, Delivery, DeliveryCause, trigger_delivery
from common.urls.outbound import OutboundRules
from streams.webhooks.apprise.sender import AppriseSender
from streams.webhooks.delivery.http_sender import HttpSender
from streams.webhooks.delivery.schedule import SendKind, SendResult
from tests.services.receiver import Receiver
from tests.unit.streams.webhooks.builders import trigger_in_phase

pytestmark = pytest.mark.integration

HERE = OutboundRules(parse_networks("127.0.0.0/8"))
CROP = b"\xff\xd8a crop"


def _delivery(cause: DeliveryCause = DeliveryCause.EVENT) -> Delivery:
    trigger = trigger_in_phase(TriggerPhase.FINAL)
    seen = msgspec.structs.replace(trigger.recognition, crop_key="crop")
    trigger = msgspec.structs.replace(trigger, recognition=seen)
    target = AppriseTarget(alert_id=trigger.alert.alert_id, url_encrypted="unused")
    return trigger_delivery(trigger, "apprise-1", target, cause=cause)


async def _crop(key: str) -> bytes | None:
    return CROP


async def _send(
    *urls: str,
    rules: OutboundRules = HERE,
    delivery: Delivery | None = None,
    seconds: float = 10,
    limit: int = 0,
) -> Sequence[SendResult]:
    http = HttpSender(rules, timeout_seconds=10)
    sender = AppriseSender(
        http,
        _crop,
        HourlyLimits(per_address=limit, per_owner=0, messages="messages", clock=time.monotonic),
        public_url="https://plates.example.com",
        timeout_seconds=seconds,
        threads=8,
        now_ms=lambda: 0,
    )
    try:
        made = delivery or _delivery()
        if limit:
            return [await sender.send(made, url) for url in urls]
        return await asyncio.gather(*(sender.send(made, url) for url in urls))
    finally:
        sender.close()
        await http.close()


def _url(receiver: Receiver, scheme: str, place: str) -> str:
    return receiver.url(place).replace("http://", f"{scheme}://")


async def test_ntfy_gets_text_and_image(receiver: Receiver) -> None:
    delivery = _delivery()
    (result,) = await _send(_url(receiver, "ntfy", "/gate"), delivery=delivery)

    assert result == SendResult(kind=SendKind.ACCEPTED, status=200)
    (got,) = receiver.received
    assert got.body == CROP
    assert delivery.trigger is not None
    seen, alert = delivery.trigger.recognition, delivery.trigger.alert
    assert got.path.startswith("/gate?")
    for text in (seen.plate, seen.id, "Confidence", "Time", "https%3A%2F%2Fplates.example.com"):
        assert str(text) in got.path
    assert alert.name.replace(" ", "+") in got.path


async def test_gotify_gets_json_and_a_test_says_so(receiver: Receiver) -> None:
    url = _url(receiver, "gotify", "/t0ken")
    (result,) = await _send(url, delivery=_delivery(DeliveryCause.TEST))

    assert result.kind is SendKind.ACCEPTED
    (got,) = receiver.received
    assert got.path == "/message"
    assert got.headers["x-gotify-key"] == "t0ken"
    assert got.json["title"].startswith("[Test] ")
    assert "Test: This is a test message" in got.json["message"]


@pytest.mark.parametrize(
    ("behaviour", "kind", "error"),
    [
        ("/status/500", SendKind.FAILED, "Received status 500."),
        ("/status/429?retry-after=7", SendKind.FAILED, "Received status 429."),
        ("/status/403", SendKind.FAILED, "Received status 403."),
        ("/status/410", SendKind.REFUSED, "Received status 410."),
        ("/redirect", SendKind.REFUSED, "Received status 302."),
        ("/hang-up", SendKind.FAILED, "The request failed: ServerDisconnectedError."),
    ],
)
async def test_a_failure_is_what_the_same_of_a_webhook_is(
    receiver: Receiver, behaviour: str, kind: SendKind, error: str
) -> None:
    receiver.answer("/message", behaviour)
    (result,) = await _send(_url(receiver, "gotify", "/t0ken"))

    assert (result.kind, result.error) == (kind, error)
    assert result.retry_after_seconds == (7 if "retry" in behaviour else None)
    assert len(receiver.received) == 1


async def test_beyond_the_limit_of_the_hour_nothing_is_sent(receiver: Receiver) -> None:
    phone, other = _url(receiver, "gotify", "/phone"), _url(receiver, "gotify", "/other")
    results = await _send(phone, phone, phone, other, limit=2)

    assert [result.kind for result in results] == [
        *([SendKind.ACCEPTED] * 2),
        SendKind.REFUSED,
        SendKind.ACCEPTED,
    ]
    assert results[2] == SendResult(
        kind=SendKind.REFUSED,
        error="The address has reached its limit of 2 messages per hour.",
        is_held_back=True,
    )
    said = ["hourly limit is reached" in got.json["message"] for got in receiver.received]
    assert said == [False, True, False]


async def test_a_service_that_hangs_holds_up_no_other(receiver: Receiver) -> None:
    receiver.answer("/message", "/never")
    began = time.monotonic()
    hanging = asyncio.create_task(_send(_url(receiver, "gotify", "/t0ken"), seconds=1.5))
    (quick,) = await _send(_url(receiver, "ntfy", "/gate"))
    assert quick.kind is SendKind.ACCEPTED
    assert not hanging.done()
    (result,) = await hanging

    assert (result.kind, result.error) == (SendKind.FAILED, "No response within 1.5 s.")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("url", "error"),
    [
        (
            "gotify://127.0.0.1:9/t0ken",
            "The URL is in a private network. The server's administrator must allow this network: "
            "PLATESTREAM_WEBHOOK_ALLOWED_NETWORKS.",
        ),
        ("ntfy://push.example.com/a/b", "The URL names more than one recipient; use"),
        ("dbus://", "The URL must begin with one of"),
    ],
)
async def test_a_denied_recipient_is_rejected_when_sending(url: str, error: str) -> None:
    (result,) = await _send(url, rules=OutboundRules())
    assert result.kind is SendKind.REFUSED
    assert (result.error or "").startswith(error)
    assert "t0ken" not in str(result)
