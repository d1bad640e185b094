"""Topics and messages, including those for Home Assistant. No I/O."""

import json
from types import SimpleNamespace
from uuid import UUID

import msgspec
import pytest
from pydantic import ValidationError

from common.records.alerts import EarlyTrigger, TriggerPhase
from common.records.cameras import CameraConfig, CameraState, CameraStatus
from common.records.deliveries import (
    CameraEvent,
    WebhookTarget,
    camera_delivery,
    recognition_delivery,
    trigger_delivery,
)
from common.records.ids import NIL_UUID
from common.records.payloads import delivery_body
from common.records.webhooks import EventName
from streams.mqtt.broker import max_in_flight
from streams.mqtt.discovery import discovery_payload
from streams.mqtt.messages import (
    TopicNames,
    alert_message,
    camera_message,
    image_message,
    recognition_message,
)
from streams.mqtt.settings import MqttStageSettings
from tests.records import CAMERAS, OWNER, alert, alert_trigger, recognition
from tests.unit.streams.webhooks.builders import BOX, WEBHOOK

NAMES = TopicNames("platestream", "homeassistant")
CAMERA = CameraConfig(
    camera_id=CAMERAS[0],
    owner_id=OWNER,
    name="Gate",
    stream_url_encrypted=BOX.encrypt("rtsp://user:hunter2@10.0.0.9/"),
    enabled=True,
    revision=1,
)
STATUS = CameraStatus(
    camera_id=CAMERAS[0],
    owner_id=OWNER,
    state=CameraState.ONLINE,
    revision=1,
    worker="w",
    at_ms=1_795_000_000_000,
)


def test_a_recognition_is_what_a_webhook_gets() -> None:
    made = recognition(1)
    message = recognition_message(NAMES, made, published_ms=made.captured_ms + 9)
    webhook = recognition_delivery(made, WEBHOOK, created_ms=made.captured_ms + 9)

    assert message.payload == delivery_body(webhook, BOX)
    assert message.topic == f"platestream/{OWNER}/{made.camera_id}/recognition"
    assert not message.retain


def test_an_alert_is_what_a_webhook_gets() -> None:
    rule = alert(1, notifications_encrypted=BOX.encrypt('[{"type":"webhook","url":"u"}]'))
    trigger = alert_trigger(rule, recognition(2))
    published = json.loads(alert_message(NAMES, trigger).payload)
    delivery = trigger_delivery(trigger, "e", WebhookTarget(webhook_id=WEBHOOK))
    webhook = json.loads(delivery_body(delivery, BOX))

    assert published == webhook


@pytest.mark.parametrize(
    ("phase", "kind", "event"),
    [
        (TriggerPhase.EARLY, "alert", "alert.triggered"),
        (TriggerPhase.CONFIRMED, "alert-settled", "alert.confirmed"),
        (TriggerPhase.CORRECTED, "alert-settled", "alert.corrected"),
        (TriggerPhase.WITHDRAWN, "alert-settled", "alert.corrected"),
    ],
)
def test_the_resolution_of_an_early_alert_has_a_separate_topic(
    phase: TriggerPhase, kind: str, event: str
) -> None:
    seen = recognition(2)
    early = EarlyTrigger(plate="AB1", captured_ms=seen.captured_ms - 500, decided_ms=1)
    rule = alert(1, notifications_encrypted=BOX.encrypt("[]"))
    settled = None if phase is TriggerPhase.EARLY else early
    trigger = alert_trigger(rule, seen, phase=phase, early=settled)
    message = alert_message(NAMES, trigger)
    delivery = trigger_delivery(trigger, "e", WebhookTarget(webhook_id=WEBHOOK))
    assert message.topic == f"platestream/{OWNER}/{seen.camera_id}/{kind}"
    published = json.loads(message.payload)
    assert (published["event"], published["id"]) == (event, str(delivery.event_id))


def test_a_camera_is_what_a_webhook_gets_except_its_address() -> None:
    name = EventName.CAMERA_ONLINE
    message = camera_message(NAMES, name, CAMERA, STATUS)
    delivery = camera_delivery(name, CameraEvent(camera=CAMERA, status=STATUS), NIL_UUID)
    webhook = json.loads(delivery_body(delivery, BOX))

    assert webhook["data"]["camera"].pop("rtspUrl")
    assert json.loads(message.payload) == webhook
    assert message.topic == f"platestream/{OWNER}/{CAMERAS[0]}/camera"


def test_owners_and_installations_stay_apart() -> None:
    names = TopicNames("site/north", "homeassistant/{owner}")
    other = UUID(int=OWNER.int + 99)

    assert names.availability == "site/north/status"
    assert names.state(other, CAMERAS[0]) == f"site/north/{other}/{CAMERAS[0]}/state"
    assert (
        names.discovery(other, CAMERAS[0])
        == f"homeassistant/{other}/device/site_north_{CAMERAS[0]}/config"
    )
    assert TopicNames("site", "").discovery(other, CAMERAS[0]) is None


def test_home_assistant_gets_a_device_with_its_entities() -> None:
    discovery = json.loads(
        discovery_payload(NAMES, msgspec.structs.replace(CAMERA, location="Yard"), has_image=True)
    )
    parts = discovery["components"]

    assert set(discovery) == {"device", "origin", "components", "qos"}
    assert discovery["device"]["identifiers"] == [f"platestream_{CAMERAS[0]}"]
    assert discovery["device"]["suggested_area"] == "Yard"
    assert {part["platform"] for part in parts.values()} == {
        "binary_sensor",
        "sensor",
        "event",
        "image",
        "device_automation",
    }
    entities = [part for part in parts.values() if part["platform"] != "device_automation"]
    assert len({part["unique_id"] for part in entities}) == len(entities)
    assert {part["availability_topic"] for part in entities} == {"platestream/status"}
    assert parts["alert"]["event_types"] == ["alert.triggered"]
    assert parts["alert_settled"]["event_types"] == ["alert.confirmed", "alert.corrected"]
    assert parts["alert_settled"]["state_topic"] == parts["alert"]["state_topic"] + "-settled"
    url_topic = image_message(NAMES, recognition(0), "http://s3/crop").topic
    assert parts["image"]["url_topic"] == url_topic
    assert parts["image"]["content_type"] == "image/jpeg"
    bare = json.loads(discovery_payload(NAMES, CAMERA, has_image=False))
    assert "suggested_area" not in bare["device"]
    # This form makes Home Assistant remove the previous entity.
    assert bare["components"]["image"] == {"platform": "image"}


@pytest.mark.parametrize("prefix", ["", "/a", "a/", "a/#", "+", "a b", "$SYS"])
def test_a_prefix_that_is_no_topic_is_refused(prefix: str) -> None:
    with pytest.raises(ValidationError):
        MqttStageSettings.model_validate({"mqtt_host": "h", "mqtt_topic_prefix": prefix})


@pytest.mark.parametrize(("offered", "expected"), [(None, 100), (20, 20), (65_535, 100)])
def test_no_more_is_in_flight_than_the_broker_takes(offered: int | None, expected: int) -> None:
    # paho's properties have attributes only for the properties that were sent.
    greeting = SimpleNamespace() if offered is None else SimpleNamespace(ReceiveMaximum=offered)

    assert max_in_flight(100, greeting) == expected
    assert max_in_flight(100, None) == 100


def test_owners_and_secrets_of_the_settings() -> None:
    settings = MqttStageSettings.model_validate(
        {"mqtt_host": "h", "mqtt_owners": f"{OWNER}, {WEBHOOK}", "mqtt_password": "hunter2"}
    )

    assert settings.mqtt_owners == (OWNER, WEBHOOK)
    assert "hunter2" not in repr(settings)
    with pytest.raises(ValidationError):
        MqttStageSettings.model_validate({"mqtt_host": ""})
