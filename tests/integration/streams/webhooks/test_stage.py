"""Events through the webhooks stage to a real receiver, and the state after a kill."""

import json
from collections import Counter
from itertools import count

import pytest
from standardwebhooks import Webhook

from common.records.alerts import AlertTrigger
from common.records.cameras import CameraConfig, CameraState, CameraStatus
from common.records.deliveries import AttemptOutcome
from common.records.owners import OwnerConfig
from common.records.topics import ALERTS, CAMERA_STATUS, CONFIG_CAMERAS, CONFIG_OWNERS
from common.records.webhooks import EventName
from common.timestamps import format_timestamp, now_ms
from tests.integration.streams.webhooks.pipeline import SECRET, Pipeline
from tests.records import CAMERAS, OWNER, alert, alert_trigger, recognition, recognitions
from tests.services.mail import MailServer
from tests.services.receiver import Receiver
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


def test_a_recognition_reaches_the_receiver_signed_and_once(
    pipeline: Pipeline, receiver: Receiver
) -> None:
    webhook_id = pipeline.webhook(receiver.url())
    pipeline.start()
    pipeline.recognized(recognition(7))
    wait_until("the delivery", lambda: len(receiver.received) == 1)
    wait_until("the attempt", lambda: len(pipeline.attempts()) == 1)

    request = receiver.received[0]
    body = request.json
    assert body["event"] == "recognition.created"
    assert body["data"]["recognition"]["plate"] == "AB00007"
    assert request.headers["x-event-id"] == body["id"] == request.headers["webhook-id"]
    assert request.headers["x-webhook-id"] == str(webhook_id)
    assert request.headers["x-delivery-attempt"] == "1"
    assert request.headers["x-tenant"] == "north"
    Webhook(SECRET).verify(request.body, dict(request.headers))
    attempt = pipeline.attempts()[0]
    assert (attempt.outcome, attempt.status, attempt.number) == (AttemptOutcome.DELIVERED, 200, 1)
    wait_until("the status", lambda: pipeline.status(webhook_id) is not None)
    status = pipeline.status(webhook_id)
    assert status is not None
    assert (status.failure_count, status.last_delivery_status) == (0, 200)


def test_nothing_is_forgotten_when_the_stage_is_killed(
    pipeline: Pipeline, receiver: Receiver
) -> None:
    receiver.answer("/ok", "/status/503")
    pipeline.webhook(receiver.url())
    first = pipeline.start(webhook_retry_seconds="1,1,1,1,1,1,1,1")
    pipeline.recognized(*recognitions(range(20)))
    # Some deliveries may have been attempted twice by then.
    wait_until("first attempts", lambda: len({body["id"] for body in receiver.bodies()}) == 20)
    first.kill()
    receiver.answer("/ok", "/ok")
    before = {body["id"] for body in receiver.bodies()}
    count = len(receiver.received)
    pipeline.start(webhook_retry_seconds="1,1,1,1,1,1,1,1")
    wait_until(
        "all are delivered",
        lambda: {body["id"] for body in receiver.bodies()[count:]} == before and len(before) == 20,
    )
    wait_until(
        "all attempts are published",
        lambda: (
            len(
                {
                    a.delivery.id
                    for a in pipeline.attempts()
                    if a.outcome is AttemptOutcome.DELIVERED
                }
            )
            == 20
        ),
    )


def test_an_alert_reaches_webhooks_urls_and_addresses(
    pipeline: Pipeline, receiver: Receiver
) -> None:
    pipeline.webhook(receiver.url("/webhook"), events=(EventName.ALERT_TRIGGERED,))
    notifications = [
        {"type": "webhook", "url": receiver.url("/notified")},
        {"type": "email", "addresses": ["guard@example.com"]},
        {"type": "email", "addresses": ["boss@example.com", "Guard@example.com"]},
    ]
    rule = alert(
        1,
        owner_id=OWNER,
        notifications_encrypted=pipeline.box.encrypt(json.dumps(notifications)),
        notification_secret_encrypted=pipeline.box.encrypt(SECRET),
    )
    trigger = alert_trigger(rule, recognition(3), decided_ms=now_ms())
    with MailServer() as server:
        server.refuse("boss@example.com", "550 no such user")
        pipeline.start(smtp_host="127.0.0.1", smtp_port=str(server.port), smtp_encryption="none")
        for _ in range(2):
            pipeline.send(ALERTS, str(rule.alert_id), trigger)
        wait_until("all attempts", lambda: len(pipeline.attempts()) >= 4)

    assert {request.path for request in receiver.received} == {"/webhook", "/notified"}
    bodies = [request.json for request in receiver.received]
    assert bodies[0] == bodies[1]
    assert bodies[0]["event"] == "alert.triggered"
    assert "notifications" not in bodies[0]["data"]["alert"]
    assert bodies[0]["data"]["recognition"]["plate"] == "AB00003"
    for request in receiver.received:
        Webhook(SECRET).verify(request.body, dict(request.headers))
    assert [address.lower() for address in server.recipients] == ["guard@example.com"]
    outcomes = Counter(attempt.outcome for attempt in pipeline.attempts())
    assert outcomes == {AttemptOutcome.DELIVERED: 3, AttemptOutcome.DEAD: 1}


def test_a_camera_that_comes_and_goes(pipeline: Pipeline, receiver: Receiver) -> None:
    events = (EventName.CAMERA_ONLINE, EventName.CAMERA_OFFLINE)
    pipeline.webhook(receiver.url(), events=events)
    camera = CameraConfig(
        camera_id=CAMERAS[0],
        owner_id=OWNER,
        name="Gate",
        stream_url_encrypted=pipeline.box.encrypt("rtsp://user:hunter2@10.0.0.9/stream"),
        enabled=True,
        revision=1,
        identifier="gate",
    )
    pipeline.send(CONFIG_CAMERAS, str(camera.camera_id), camera)
    pipeline.start()
    for state, at_ms, seen_ms in (
        (CameraState.CONNECTING, 1_000, None),
        (CameraState.ONLINE, 2_000, 2_000),
        (CameraState.ONLINE, 7_000, 7_000),
        (CameraState.OFFLINE, 20_000, 7_000),
        (CameraState.OFFLINE, 25_000, 7_000),
        (CameraState.OFFLINE, 30_000, 7_000),
    ):
        status = CameraStatus(
            camera_id=camera.camera_id,
            owner_id=OWNER,
            state=state,
            revision=1,
            worker="w",
            at_ms=1_795_000_000_000 + at_ms,
            last_seen_ms=None if seen_ms is None else 1_795_000_000_000 + seen_ms,
        )
        pipeline.send(CAMERA_STATUS, str(camera.camera_id), status)
    wait_until("both events", lambda: len(receiver.received) == 2)

    online, offline = receiver.bodies()
    assert (online["event"], offline["event"]) == ("camera.online", "camera.offline")
    assert offline["data"]["at"] == format_timestamp(1_795_000_025_000)
    assert offline["data"]["camera"]["rtspUrl"] == "rtsp://user:***@10.0.0.9/stream"
    assert offline["data"]["camera"]["status"] == "offline"
    wait_until("their deliveries", lambda: pipeline.deliveries() == 2)


def test_one_endpoint_that_never_answers_delays_no_other(pipeline: Pipeline) -> None:
    with Receiver() as healthy, Receiver() as hanging:
        pipeline.webhook(hanging.url("/never"))
        pipeline.webhook(healthy.url())
        pipeline.start(webhook_timeout_seconds="60")
        pipeline.recognized(*recognitions(range(200)))
        wait_until("the healthy one has all", lambda: len(healthy.received) == 200)

    assert 1 <= len(hanging.received) <= 16


def test_410_is_final_and_disables_the_webhook(pipeline: Pipeline, receiver: Receiver) -> None:
    receiver.answer("/gone", "/status/410")
    webhook_id = pipeline.webhook(receiver.url("/gone"))
    pipeline.start()
    pipeline.recognized(recognition(7))
    wait_until("the status", lambda: pipeline.status(webhook_id) is not None)

    status = pipeline.status(webhook_id)
    assert status is not None
    assert (status.disabled_revision, status.last_delivery_status) == (1, 410)
    wait_until("the attempt", lambda: len(pipeline.attempts()) == 1)
    (attempt,) = pipeline.attempts()
    assert (attempt.outcome, attempt.status) == (AttemptOutcome.DEAD, 410)
    pipeline.webhook(receiver.url())
    pipeline.recognized(recognition(8))
    wait_until("the next event", lambda: len(receiver.received) > 1)
    assert [request.path for request in receiver.received] == ["/gone", "/ok"]


def test_a_rotation_of_the_notification_secret_reaches_a_running_worker(
    pipeline: Pipeline, receiver: Receiver
) -> None:
    notifications = json.dumps([{"type": "webhook", "url": receiver.url("/notified")}])
    rule = alert(
        1,
        owner_id=OWNER,
        notifications_encrypted=pipeline.box.encrypt(notifications),
        notification_secret_encrypted=pipeline.box.encrypt(SECRET),
    )

    def trigger(number: int) -> AlertTrigger:
        return alert_trigger(rule, recognition(number), decided_ms=now_ms())

    pipeline.start()
    pipeline.send(ALERTS, str(rule.alert_id), trigger(1))
    wait_until("the first notification", lambda: len(receiver.received) == 1)
    owner = OwnerConfig(
        owner_id=OWNER,
        limits={},
        notification_secret_encrypted=pipeline.box.encrypt("the new one"),
        previous_notification_secret_encrypted=pipeline.box.encrypt(SECRET),
        previous_notification_secret_until_ms=now_ms() + 3_600_000,
    )
    pipeline.send(CONFIG_OWNERS, str(OWNER), owner)
    numbers = count(2)

    def is_signed_with_both() -> bool:
        pipeline.send(ALERTS, str(rule.alert_id), trigger(next(numbers)))
        return any("x-signature-256-previous" in one.headers for one in receiver.received)

    wait_until("both signatures", is_signed_with_both)
    both = next(one for one in receiver.received if "x-signature-256-previous" in one.headers)
    for secret in (SECRET, b"the new one"):
        Webhook(secret).verify(both.body, dict(both.headers))
