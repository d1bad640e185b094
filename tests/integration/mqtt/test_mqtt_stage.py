"""Events come to a real broker, and Home Assistant would find the cameras."""

import json
from uuid import UUID

import pytest

from contracts.alert_records import AlertTrigger
from contracts.cameras import CameraState
from contracts.ids import event_id, trigger_id
from contracts.moments import now_ms
from contracts.topics import ALERTS
from contracts.webhooks import EventName
from tests.integration.mqtt.way import Way, discovery, events, just_made, topic
from tests.records import CAMERAS, OWNER, alert, recognition
from tests.services.mqtt import PASSWORD, Listener, port_of
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


def test_events_and_cameras_come_and_go(way: Way) -> None:
    # From before MQTT was switched on: not to be told.
    old = recognition(0)
    way.recognized([old])
    way.status(CameraState.ONLINE)
    way.camera(location="Yard")
    way.start()
    with Listener(port_of(way.broker)) as listener:
        _announced(way, listener)
        _recognized(way, listener)
        _alerted(way, listener)
        _went(way, listener)
        _vanished(way, listener)

        ids = [told["data"]["recognition"]["id"] for told in events(listener, "recognition")]
        assert str(old.id) not in ids
        assert b"not for this stage" not in b"".join(heard.payload for heard in listener.heard)
    assert PASSWORD not in way.log()


def test_two_workers_share_what_is_told(way: Way) -> None:
    with Listener(port_of(way.broker)) as listener:
        # One setting for both, as an operator gives it.
        first = way.start(mqtt_client_id="gate")
        way.start(mqtt_client_id="gate")
        for number in range(len(CAMERAS)):
            way.camera(number)
            way.status(CameraState.ONLINE, number)
        wait_until("all came", lambda: all(_states(listener, "online")))
        connected = way.log().count("mqtt_connected")
        made = just_made(0, 200)
        way.recognized(made)
        wait_until("all are told", lambda: _told(listener) >= {str(one.id) for one in made})
        assert (connected, way.log().count("mqtt_connected")) == (2, 2)
        assert "mqtt_away" not in way.log()
        # A repeat is allowed; were both to tell all, each would come twice.
        assert len(_recognitions(listener)) < 2 * len(made)

        first.kill()
        more = just_made(200, 240)
        way.recognized(more)
        wait_until("all are told", lambda: _told(listener) >= {str(one.id) for one in more})
        wait_until("it is there", lambda: listener.latest("platestream/status") == b"online")
        assert all(_states(listener, "online"))
        for number in range(len(CAMERAS)):
            came = {told["id"]: told["event"] for told in events(listener, "camera", number)}
            assert list(came.values()) == ["camera.online"]


def _states(listener: Listener, wanted: str) -> list[bool]:
    return [
        listener.latest(topic("state", number)) == wanted.encode() for number in range(len(CAMERAS))
    ]


def _recognitions(listener: Listener) -> list[str]:
    return [
        told["data"]["recognition"]["id"]
        for number in range(len(CAMERAS))
        for told in events(listener, "recognition", number)
    ]


def _told(listener: Listener) -> set[str]:
    return set(_recognitions(listener))


def _announced(way: Way, listener: Listener) -> None:
    wait_until("the state is kept", lambda: listener.latest(topic("state")) == b"online")
    told = json.loads(listener.latest(discovery()) or b"")
    assert told["device"]["name"] == "Gate 0"
    assert told["device"]["suggested_area"] == "Yard"
    parts = told["components"]
    assert parts["online"]["state_topic"] == topic("state")
    assert parts["last_plate"]["state_topic"] == topic("recognition")
    assert parts["alert"]["state_topic"] == parts["alert_trigger"]["topic"] == topic("alert")
    way.camera(name="Main gate", revision=2)
    wait_until("the name changed", lambda: b"Main gate" in (listener.latest(discovery()) or b""))
    # The broker gives both to those who come later.
    with Listener(port_of(way.broker)) as late:
        wait_until("what was kept comes", lambda: late.latest(topic("state")) == b"online")
        assert {heard.topic for heard in late.heard if heard.retained} >= {
            discovery(),
            topic("state"),
            "platestream/status",
        }


def _recognized(way: Way, listener: Listener) -> None:
    made = [recognition(8 * number, captured_ms=now_ms() + number) for number in range(1, 6)]
    way.recognized(made)
    wait_until("all came", lambda: len(events(listener, "recognition")) >= len(made))
    told = events(listener, "recognition")
    assert [each["data"]["recognition"]["plate"] for each in told] == [one.plate for one in made]
    first = event_id(made[0].captured_ms, EventName.RECOGNITION_CREATED, str(made[0].id))
    assert (told[0]["id"], told[0]["event"]) == (str(first), "recognition.created")


def _alerted(way: Way, listener: Listener) -> None:
    rule, seen = alert(1), recognition(8, captured_ms=now_ms())
    trigger = AlertTrigger(
        id=trigger_id(seen.captured_ms, rule.alert_id, seen.id),
        owner_id=OWNER,
        alert=rule,
        recognition=seen,
        decided_ms=now_ms(),
    )
    way.send(ALERTS, str(rule.alert_id), trigger)
    wait_until("the alert came", lambda: bool(events(listener, "alert")))
    (told,) = events(listener, "alert")
    assert told["event"] == "alert.triggered"
    assert told["data"]["alert"]["name"] == rule.name
    assert "notifications" not in told["data"]["alert"]


def _went(way: Way, listener: Listener) -> None:
    assert not events(listener, "camera")
    gone = way.status(CameraState.OFFLINE, seen_ms_ago=60_000)
    wait_until("it went", lambda: listener.latest(topic("state")) == b"offline")
    back = way.status(CameraState.ONLINE)
    wait_until("it came back", lambda: listener.latest(topic("state")) == b"online")
    told = events(listener, "camera")
    assert [each["event"] for each in told] == ["camera.offline", "camera.online"]
    wanted = [
        event_id(gone.at_ms, EventName.CAMERA_OFFLINE, str(CAMERAS[0])),
        event_id(back.at_ms, EventName.CAMERA_ONLINE, str(CAMERAS[0])),
    ]
    assert [UUID(each["id"]) for each in told] == wanted
    assert told[0]["data"]["camera"]["name"] == "Main gate"
    assert "rtspUrl" not in told[0]["data"]["camera"]


def _vanished(way: Way, listener: Listener) -> None:
    way.deleted(CAMERAS[0])
    wait_until("it is forgotten", lambda: listener.latest(discovery()) == b"")
    wait_until("its state too", lambda: listener.latest(topic("state")) == b"")
    way.status(CameraState.ONLINE)
    way.camera(1)
    wait_until("the next one came", lambda: bool(listener.latest(discovery(1))))
    with Listener(port_of(way.broker)) as late:
        wait_until("what was kept comes", lambda: bool(late.latest(discovery(1))))
        assert not {heard.topic for heard in late.heard} & {discovery(), topic("state")}
