"""What receivers are told has the very fields of the API's answers."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest

from analytics_sql.recognitions import ListedRecognition
from api.alerts.schemas import AlertBody
from api.cameras.schemas import CameraBody
from api.recognitions.schemas import recognition_body
from contracts.alert_records import AlertTrigger
from contracts.alerts import EmailNotification, WebhookNotification
from contracts.cameras import CameraConfig, CameraState, CameraStatus
from contracts.deliveries import (
    CameraEvent,
    DeliveryCause,
    DeliveryTarget,
    EmailTarget,
    UrlTarget,
    WebhookTarget,
    camera_delivery,
)
from contracts.early import EarlyFiring, TriggerPhase
from contracts.frames import Zone, ZoneKind
from contracts.ids import NIL_UUID, trigger_id, uuid_unix_ms
from contracts.recognitions import Recognition
from contracts.webhooks import EventName
from streams.common.shapes import body_of
from streams.webhooks.fan_out import trigger_deliveries
from tests.records import CAMERAS, OWNER, alert, recognition
from tests.unit.streams.webhooks.builders import BOX, delivery, webhook


def _listed(made: Recognition) -> ListedRecognition:
    return ListedRecognition(
        id=made.id,
        user_id=made.owner_id,
        camera_id=made.camera_id,
        camera_name=made.camera_name,
        plate=made.plate,
        confidence=made.confidence,
        captured_ms=made.captured_ms,
        box=made.box,
        photo_key=made.photo_key,
        crop_key=made.crop_key,
    )


def _api(body: Any) -> Any:
    return json.loads(body.model_dump_json(by_alias=True))


@pytest.mark.parametrize("bare", [False, True])
def test_a_recognition_is_as_in_lists(bare: bool) -> None:
    made = recognition(1)
    if bare:
        made = msgspec.structs.replace(made, box=None, photo_key=None, crop_key=None)
    told = json.loads(body_of(msgspec.structs.replace(delivery(1), recognition=made), BOX))
    shown = _api(recognition_body(_listed(made), photo_url=made.photo_key, crop_url=made.crop_key))

    assert told["data"] == {"recognition": shown}
    assert set(told) == {"id", "event", "createdAt", "data"}


def test_an_alert_has_the_fields_of_the_api_but_its_count() -> None:
    notifications = [
        {"type": "email", "addresses": ["guard@example.com"]},
        {"type": "webhook", "url": "https://receiver.example.com/gate"},
    ]
    rule = alert(1, notifications_encrypted=BOX.encrypt(json.dumps(notifications)))
    trigger = AlertTrigger(
        id=rule.alert_id,
        owner_id=OWNER,
        alert=rule,
        recognition=recognition(2),
        decided_ms=recognition(2).captured_ms + 3,
        is_late=True,
    )
    made = trigger_deliveries(trigger, [webhook()], BOX)
    told = json.loads(body_of(made[0], BOX))
    wanted = {field.alias for field in AlertBody.model_fields.values()} - {"triggerCount"}

    assert set(told["data"]) == {"alert", "recognition", "triggerId", "late"}
    assert told["data"]["triggerId"] == str(trigger.id)
    assert set(told["data"]["alert"]) == wanted
    assert told["data"]["alert"]["notifications"] == notifications
    assert told["data"]["recognition"]["plate"] == recognition(2).plate
    assert len({one.event_id for one in made}) == 1
    assert len({one.id for one in made}) == len({one.endpoint for one in made}) == 3


def test_the_same_trigger_gives_the_same_ids_and_an_address_is_told_once() -> None:
    notifications = (
        EmailNotification(addresses=("a@example.com", "A@example.com", "b@example.com")),
        EmailNotification(addresses=("b@example.com",)),
        WebhookNotification(url="https://receiver.example.com/"),
        WebhookNotification(url="https://receiver.example.com/"),
    )
    encrypted = BOX.encrypt(msgspec.json.encode(notifications).decode())
    trigger = AlertTrigger(
        id=CAMERAS[1],
        owner_id=OWNER,
        alert=alert(1, notifications_encrypted=encrypted),
        recognition=recognition(2),
        decided_ms=1,
    )
    first, second = (trigger_deliveries(trigger, [], BOX) for _ in range(2))

    assert [one.id for one in first] == [one.id for one in second]
    assert len(first) == 3


def _in_phase(phase: TriggerPhase) -> AlertTrigger:
    """Return what is told of one firing whose vehicle was captured again two seconds later."""
    notifications = (
        EmailNotification(addresses=("a@example.com",)),
        WebhookNotification(url="https://receiver.example.com/"),
    )
    encrypted = BOX.encrypt(msgspec.json.encode(notifications).decode())
    first = recognition(1)
    is_early = phase is TriggerPhase.EARLY
    early = EarlyFiring(plate="AB12", captured_ms=first.captured_ms, decided_ms=2)
    return AlertTrigger(
        id=trigger_id(first.captured_ms, alert(1).alert_id, first.id),
        owner_id=OWNER,
        alert=alert(1, notifications_encrypted=encrypted),
        recognition=first if is_early else recognition(1, captured_ms=first.captured_ms + 2_000),
        decided_ms=1 if is_early else 3,
        phase=phase,
        early=None if is_early else early,
    )


@pytest.mark.parametrize(
    ("phase", "told"),
    [
        (TriggerPhase.EARLY, {WebhookTarget: "alert.triggered", UrlTarget: "alert.triggered"}),
        (
            TriggerPhase.CONFIRMED,
            {WebhookTarget: "alert.confirmed", EmailTarget: "alert.triggered"},
        ),
        (
            TriggerPhase.CORRECTED,
            {
                WebhookTarget: "alert.corrected",
                UrlTarget: "alert.corrected",
                EmailTarget: "alert.triggered",
            },
        ),
        (TriggerPhase.WITHDRAWN, {WebhookTarget: "alert.corrected", UrlTarget: "alert.corrected"}),
    ],
)
def test_who_is_told_of_a_phase_and_as_what(
    phase: TriggerPhase, told: dict[type[DeliveryTarget], str]
) -> None:
    made = trigger_deliveries(_in_phase(phase), [webhook()], BOX)
    assert {type(one.target): one.event for one in made} == told
    assert {uuid_unix_ms(one.id) == one.occurred_ms for one in made} == {True}


def test_a_correction_is_an_event_of_its_own_that_names_what_it_corrects() -> None:
    first, last = (
        trigger_deliveries(_in_phase(phase), [webhook()], BOX)[0]
        for phase in (TriggerPhase.EARLY, TriggerPhase.WITHDRAWN)
    )
    assert first.occurred_ms < last.occurred_ms
    assert {uuid_unix_ms(one.event_id) == one.occurred_ms for one in (first, last)} == {True}
    early, corrected = (json.loads(body_of(one, BOX)) for one in (first, last))
    assert (early["event"], corrected["event"]) == ("alert.triggered", "alert.corrected")
    assert early["id"] != corrected["id"]
    assert early["data"]["triggerId"] == corrected["data"]["triggerId"]
    assert (early["data"]["phase"], early["data"]["provisional"]) == ("early", True)
    assert (corrected["data"]["phase"], corrected["data"]["earlyPlate"]) == ("withdrawn", "AB12")
    assert "earlyPlate" not in early["data"]
    assert "provisional" not in corrected["data"]
    moments = [each["data"]["alert"]["lastTriggeredAt"] for each in (early, corrected)]
    assert moments[0] == moments[1] == early["data"]["recognition"]["timestamp"]


def test_a_camera_has_the_fields_of_the_api() -> None:
    at_ms = 1_795_000_000_000
    camera = CameraConfig(
        camera_id=CAMERAS[0],
        owner_id=OWNER,
        name="Gate",
        stream_url_encrypted=BOX.encrypt("rtsp://user:hunter2@10.0.0.9/"),
        enabled=True,
        revision=1,
        zones=(Zone(kind=ZoneKind.INCLUDE, points=()),),
        identifier="gate",
        created_ms=at_ms,
    )
    status = CameraStatus(
        camera_id=CAMERAS[0],
        owner_id=OWNER,
        state=CameraState.OFFLINE,
        revision=1,
        worker="w",
        at_ms=at_ms,
    )
    made = camera_delivery(
        EventName.CAMERA_OFFLINE,
        CameraEvent(camera=camera, status=status),
        NIL_UUID,
        cause=DeliveryCause.REPLAY,
    )
    told = json.loads(body_of(made, BOX))
    shown = CameraBody(
        id=str(camera.camera_id),
        identifier="gate",
        name="Gate",
        location="",
        rtsp_url="rtsp://user:***@10.0.0.9/",
        enabled=True,
        status=CameraState.OFFLINE,
        last_seen_at=None,
        last_error=None,
        frame_width=None,
        frame_height=None,
        sample_fps=None,
        zones=[],
        min_plate_width=0,
        timezone=None,
        created_at=datetime.fromtimestamp(at_ms / 1000, tz=UTC),
    )

    assert told["data"]["camera"] | {"zones": []} == _api(shown)
    assert told["data"]["at"] == told["createdAt"]
    assert told["replay"] is True
    assert UUID(told["id"]) == made.event_id
