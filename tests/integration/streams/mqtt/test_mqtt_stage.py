"""Events reach a real broker, and Home Assistant can discover the cameras."""

import json
from urllib.error import HTTPError
from urllib.request import urlopen
from uuid import UUID

import msgspec
import pytest

from common.records.cameras import CameraState
from common.records.ids import event_id
from common.records.topics import ALERTS
from common.records.webhooks import EventName
from common.s3 import S3Bucket
from common.settings import S3Settings
from common.timestamps import now_ms
from tests.integration.streams.conftest import four_partitions
from tests.integration.streams.mqtt.pipeline import Pipeline, discovery, events, just_made, topic
from tests.records import CAMERAS, alert, alert_trigger, recognition
from tests.services.mqtt import PASSWORD, Listener, port_of
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

partition_count = four_partitions


def test_events_and_cameras_come_and_go(pipeline: Pipeline) -> None:
    # A recognition from before MQTT was enabled is not published.
    old = recognition(0)
    pipeline.recognized([old])
    pipeline.status(CameraState.ONLINE)
    pipeline.camera(location="Yard")
    pipeline.start()
    with Listener(port_of(pipeline.broker)) as listener:
        _announced(pipeline, listener)
        _recognized(pipeline, listener)
        _alerted(pipeline, listener)
        _went(pipeline, listener)
        _vanished(pipeline, listener)

        ids = [event["data"]["recognition"]["id"] for event in events(listener, "recognition")]
        assert str(old.id) not in ids
        assert b"not for this stage" not in b"".join(heard.payload for heard in listener.heard)
    assert PASSWORD not in pipeline.log()


@pytest.mark.long
def test_two_workers_share_the_publishing(pipeline: Pipeline) -> None:
    with Listener(port_of(pipeline.broker)) as listener:
        first = pipeline.start()
        pipeline.start()
        for number in range(len(CAMERAS)):
            pipeline.camera(number)
            pipeline.status(CameraState.ONLINE, number)
        wait_until("all came", lambda: all(_states(listener, "online")))
        connected = pipeline.log().count("mqtt_connected")
        made = just_made(0, 200)
        pipeline.recognized(made)
        wait_until(
            "all are published", lambda: _published_ids(listener) >= {str(one.id) for one in made}
        )
        assert (connected, pipeline.log().count("mqtt_connected")) == (2, 2)
        assert "mqtt_unavailable" not in pipeline.log()
        # Repeats are allowed. If both workers published everything, each event would arrive twice.
        assert len(_recognitions(listener)) < 2 * len(made)

        first.kill()
        more = just_made(200, 240)
        pipeline.recognized(more)
        wait_until(
            "all are published", lambda: _published_ids(listener) >= {str(one.id) for one in more}
        )
        wait_until("it is there", lambda: listener.latest("platestream/status") == b"online")
        assert all(_states(listener, "online"))
        for number in range(len(CAMERAS)):
            came = {event["id"]: event["event"] for event in events(listener, "camera", number)}
            assert list(came.values()) == ["camera.online"]


def test_the_url_of_an_image_follows_its_recognition(
    pipeline: Pipeline, s3_settings: S3Settings
) -> None:
    bucket = S3Bucket(s3_settings, read_seconds=10, connections=1)
    secret = s3_settings.s3_secret_key.get_secret_value()
    places = ("s3_endpoint", "s3_bucket", "s3_access_key")
    pipeline.camera()
    pipeline.start(
        mqtt_picture="crop",
        s3_secret_key=secret,
        **{name: str(getattr(s3_settings, name)) for name in places},
    )
    seen, bare = recognition(0, captured_ms=now_ms()), recognition(8, captured_ms=now_ms() + 1)
    bucket.put(str(seen.crop_key), b"the crop", "image/jpeg")
    with Listener(port_of(pipeline.broker)) as listener:
        wait_until("it is announced", lambda: bool(listener.latest(discovery())))
        device = json.loads(listener.latest(discovery()) or b"")
        assert device["components"]["image"]["url_topic"] == topic("image-url")
        # A recognition without images has no URL.
        pipeline.recognized([seen, msgspec.structs.replace(bare, crop_key=None, photo_key=None)])
        wait_until("both came", lambda: len(events(listener, "recognition")) == 2)
        wait_until("the URL came", lambda: bool(listener.payloads(topic("image-url"))))
        (url,) = listener.payloads(topic("image-url"))
        with urlopen(url.decode(), timeout=10) as answer:
            assert (answer.read(), answer.headers["Content-Type"]) == (b"the crop", "image/jpeg")
        # An erased image is not available at its URL, and the broker does not retain the image.
        bucket.remove(str(seen.crop_key))
        with pytest.raises(HTTPError, match="404"):
            urlopen(url.decode(), timeout=10)
        assert not [
            heard for heard in listener.heard if heard.retained and b"http" in heard.payload
        ]
    assert secret not in pipeline.log()


def _states(listener: Listener, wanted: str) -> list[bool]:
    return [
        listener.latest(topic("state", number)) == wanted.encode() for number in range(len(CAMERAS))
    ]


def _recognitions(listener: Listener) -> list[str]:
    return [
        event["data"]["recognition"]["id"]
        for number in range(len(CAMERAS))
        for event in events(listener, "recognition", number)
    ]


def _published_ids(listener: Listener) -> set[str]:
    return set(_recognitions(listener))


def _announced(pipeline: Pipeline, listener: Listener) -> None:
    wait_until("the state is retained", lambda: listener.latest(topic("state")) == b"online")
    device = json.loads(listener.latest(discovery()) or b"")
    assert device["device"]["name"] == "Gate 0"
    assert device["device"]["suggested_area"] == "Yard"
    parts = device["components"]
    assert parts["online"]["state_topic"] == topic("state")
    assert parts["last_plate"]["state_topic"] == topic("recognition")
    assert parts["alert"]["state_topic"] == parts["alert_trigger"]["topic"] == topic("alert")
    pipeline.camera(name="Main gate", revision=2)
    wait_until("the name changed", lambda: b"Main gate" in (listener.latest(discovery()) or b""))
    # The broker sends both messages to later subscribers.
    with Listener(port_of(pipeline.broker)) as late:
        wait_until("retained messages arrive", lambda: late.latest(topic("state")) == b"online")
        assert {heard.topic for heard in late.heard if heard.retained} >= {
            discovery(),
            topic("state"),
            "platestream/status",
        }


def _recognized(pipeline: Pipeline, listener: Listener) -> None:
    made = [recognition(8 * number, captured_ms=now_ms() + number) for number in range(1, 6)]
    pipeline.recognized(made)
    wait_until("all came", lambda: len(events(listener, "recognition")) >= len(made))
    published = events(listener, "recognition")
    assert [each["data"]["recognition"]["plate"] for each in published] == [
        one.plate for one in made
    ]
    first = event_id(made[0].captured_ms, EventName.RECOGNITION_CREATED, str(made[0].id))
    assert (published[0]["id"], published[0]["event"]) == (str(first), "recognition.created")


def _alerted(pipeline: Pipeline, listener: Listener) -> None:
    trigger = alert_trigger(alert(1), recognition(8, captured_ms=now_ms()))
    pipeline.send(ALERTS, str(trigger.alert.alert_id), trigger)
    wait_until("the alert came", lambda: bool(events(listener, "alert")))
    (event,) = events(listener, "alert")
    assert event["event"] == "alert.triggered"
    assert event["data"]["alert"]["name"] == trigger.alert.name
    assert "notifications" not in event["data"]["alert"]


def _went(pipeline: Pipeline, listener: Listener) -> None:
    assert not events(listener, "camera")
    gone = pipeline.status(CameraState.OFFLINE, seen_ms_ago=60_000)
    wait_until("it went", lambda: listener.latest(topic("state")) == b"offline")
    recovered = pipeline.status(CameraState.ONLINE)
    wait_until("it is online again", lambda: listener.latest(topic("state")) == b"online")
    published = events(listener, "camera")
    assert [each["event"] for each in published] == ["camera.offline", "camera.online"]
    wanted = [
        event_id(gone.at_ms, EventName.CAMERA_OFFLINE, str(CAMERAS[0])),
        event_id(recovered.at_ms, EventName.CAMERA_ONLINE, str(CAMERAS[0])),
    ]
    assert [UUID(each["id"]) for each in published] == wanted
    assert published[0]["data"]["camera"]["name"] == "Main gate"
    assert "rtspUrl" not in published[0]["data"]["camera"]


def _vanished(pipeline: Pipeline, listener: Listener) -> None:
    pipeline.deleted(CAMERAS[0])
    wait_until("it is forgotten", lambda: listener.latest(discovery()) == b"")
    wait_until("its state too", lambda: listener.latest(topic("state")) == b"")
    pipeline.status(CameraState.ONLINE)
    pipeline.camera(1)
    wait_until("the next one came", lambda: bool(listener.latest(discovery(1))))
    with Listener(port_of(pipeline.broker)) as late:
        wait_until("retained messages arrive", lambda: bool(late.latest(discovery(1))))
        assert not {heard.topic for heard in late.heard} & {discovery(), topic("state")}
