"""Events through the stage to a real receiver, and what a kill leaves behind."""

import pytest
from standardwebhooks import Webhook

from contracts.deliveries import AttemptOutcome
from tests.integration.streams.stages import wait_until
from tests.integration.webhooks.way import SECRET, Way
from tests.records import recognition, recognitions
from tests.services.receiver import Receiver

pytestmark = pytest.mark.integration


def test_a_recognition_reaches_the_receiver_signed_and_once(way: Way, receiver: Receiver) -> None:
    webhook_id = way.webhook(receiver.url())
    way.start()
    way.recognized(recognition(7))
    wait_until("the delivery", lambda: len(receiver.received) == 1)
    wait_until("the attempt", lambda: len(way.attempts()) == 1)

    request = receiver.received[0]
    told = request.json
    assert told["event"] == "recognition.created"
    assert told["data"]["recognition"]["plate"] == "AB00007"
    assert request.headers["x-event-id"] == told["id"] == request.headers["webhook-id"]
    assert request.headers["x-webhook-id"] == str(webhook_id)
    assert request.headers["x-delivery-attempt"] == "1"
    assert request.headers["x-tenant"] == "north"
    Webhook(SECRET).verify(request.body, dict(request.headers))
    attempt = way.attempts()[0]
    assert (attempt.outcome, attempt.status, attempt.number) == (AttemptOutcome.DELIVERED, 200, 1)
    wait_until("the status", lambda: way.status(webhook_id) is not None)
    status = way.status(webhook_id)
    assert status is not None
    assert (status.failure_count, status.last_delivery_status) == (0, 200)


def test_nothing_is_forgotten_when_the_stage_is_killed(way: Way, receiver: Receiver) -> None:
    receiver.answer("/ok", "/status/503")
    way.webhook(receiver.url())
    first = way.start(webhook_retry_seconds="1,1,1,1,1,1,1,1")
    way.recognized(*recognitions(range(20)))
    wait_until("first attempts", lambda: len(receiver.received) >= 20)
    first.kill()
    receiver.answer("/ok", "/ok")
    before = {body["id"] for body in receiver.bodies()}
    count = len(receiver.received)
    way.start(webhook_retry_seconds="1,1,1,1,1,1,1,1")
    wait_until(
        "all are delivered",
        lambda: {body["id"] for body in receiver.bodies()[count:]} == before and len(before) == 20,
    )
    wait_until(
        "all attempts are told",
        lambda: (
            len({a.delivery.id for a in way.attempts() if a.outcome is AttemptOutcome.DELIVERED})
            == 20
        ),
    )
