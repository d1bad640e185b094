"""Payloads have exactly the fields of the API's responses."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest

from analytics_sql.recognitions import recognition_row
from api.alerts.schemas import AlertBody
from api.cameras.schemas import CameraBody
from api.recognitions.schemas import recognition_body
from common.records.alerts import (
    ALERT_FIELDS,
    AlertConfig,
    TriggerPhase,
)
from common.records.cameras import CameraConfig, CameraState, CameraStatus
from common.records.deliveries import (
    CameraEvent,
    DeliveryCause,
    camera_delivery,
)
from common.records.frames import Zone, ZoneKind
from common.records.ids import NIL_UUID, uuid_unix_ms
from common.records.payloads import alert_event_data, delivery_body, recognition_payload
from common.records.recognitions import CharacterAlternative, Direction
from common.records.webhooks import EventName
from tests.records import CAMERAS, OWNER, alert, alert_trigger, recognition
from tests.unit.streams.webhooks.builders import (
    BOX,
    delivery,
    trigger_deliveries,
    trigger_in_phase,
    webhook,
)


def _api(body: Any) -> Any:
    return json.loads(body.model_dump_json(by_alias=True))


_KNOWN = {"region": "Portugal", "region_confidence": 0.875, "direction": Direction.LEFT}
_UNKNOWN = {"box": None, "photo_key": None, "crop_key": None, "character_confidences": ()}


@pytest.mark.parametrize("fields", [_KNOWN, _UNKNOWN], ids=["full", "bare"])
def test_a_recognition_is_as_in_lists(fields: dict[str, Any]) -> None:
    made = msgspec.structs.replace(recognition(1), **fields)
    payload = json.loads(delivery_body(msgspec.structs.replace(delivery(1), recognition=made), BOX))
    shown = _api(
        recognition_body(recognition_row(made), photo_url=made.photo_key, crop_url=made.crop_key)
    )

    assert payload["data"] == {"recognition": shown}
    assert set(payload) == {"id", "event", "createdAt", "data"}


def test_known_fields_of_a_pass_are_included_and_others_left_out() -> None:
    full = msgspec.structs.replace(
        recognition(1, captured_ms=1_795_000_000_400), **_KNOWN, plate_type="two-row"
    )
    bare = msgspec.structs.replace(full, region_confidence=None, direction=None, region="us-ca")
    told, less = (msgspec.to_builtins(recognition_payload(each)) for each in (full, bare))
    none = msgspec.to_builtins(recognition_payload(msgspec.structs.replace(bare, region=None)))

    optional = {name: told[name] for name in ("region", "plateType", "source", "direction")}
    assert optional == {
        "region": {"code": "PT", "confidence": 0.875},
        "plateType": "two-row",
        "source": "camera",
        "direction": "left",
    }
    assert (told["firstSeenAt"], told["lastSeenAt"]) == (
        "2026-11-18T11:06:40.000Z",
        "2026-11-18T11:06:40.800Z",
    )
    assert (told["readingsCount"], told["characterConfidences"]) == (5, (0.9,) * 7)
    assert "characterAlternatives" not in told
    unsure = msgspec.structs.replace(bare, alternatives=(CharacterAlternative(2, "8", 0.125),))
    assert msgspec.to_builtins(recognition_payload(unsure))["characterAlternatives"] == (
        {"position": 2, "character": "8", "confidence": 0.125},
    )
    assert less["region"] == {"code": "us-ca"}
    assert "direction" not in less
    assert "region" not in none


def test_an_alert_in_an_event_has_neither_its_count_nor_its_notifications() -> None:
    notifications: list[dict[str, Any]] = [
        {"type": "email", "addresses": ["guard@example.com"]},
        {"type": "webhook", "url": "https://receiver.example.com/gate"},
        {"type": "apprise", "id": "a1", "url": "ntfys://push.example.com/s3cret"},
    ]
    rule = alert(1, notifications_encrypted=BOX.encrypt(json.dumps(notifications)))
    seen = recognition(2)
    trigger = alert_trigger(rule, seen, decided_ms=seen.captured_ms + 3, is_late=True)
    made = trigger_deliveries(trigger, [webhook()])
    payload = json.loads(delivery_body(made[0], BOX))
    wanted = {field.alias for field in AlertBody.model_fields.values()} - {
        *("triggerCount", "plateNames", "notifications")
    }

    assert set(payload["data"]) == {"alert", "recognition", "triggerId", "late"}
    assert payload["data"]["triggerId"] == str(trigger.id)
    assert set(payload["data"]["alert"]) == wanted
    assert payload["data"]["recognition"]["plate"] == recognition(2).plate
    assert len({one.event_id for one in made}) == 1
    assert len({one.id for one in made}) == len({one.endpoint for one in made}) == 4


def test_only_the_name_of_the_plate_is_included() -> None:
    bare = trigger_in_phase(TriggerPhase.FINAL)
    plate = bare.recognition.plate
    rule = alert(1, plates=(plate, "ZZ1"), plate_names={plate: "Courier", "ZZ1": "Nobody"})
    told = alert_event_data(msgspec.structs.replace(bare, alert=rule))

    assert told.plate_name == "Courier"
    assert "plateName" not in msgspec.to_builtins(alert_event_data(bare))
    assert "Nobody" not in msgspec.json.encode(told).decode()


def test_what_is_shown_of_an_alert_is_neither_secret_nor_the_record_s_own() -> None:
    private = set(AlertConfig.__struct_fields__) - set(ALERT_FIELDS)

    assert {"version", "alert_id", "owner_id", "revision", "created_ms"} < private
    assert not any("encrypted" in name or "secret" in name for name in ALERT_FIELDS)


def test_a_correction_is_a_separate_event_that_names_what_it_corrects() -> None:
    first, last = (
        trigger_deliveries(trigger_in_phase(phase), [webhook()])[0]
        for phase in (TriggerPhase.EARLY, TriggerPhase.WITHDRAWN)
    )
    assert first.occurred_ms < last.occurred_ms
    assert {uuid_unix_ms(one.event_id) == one.occurred_ms for one in (first, last)} == {True}
    early, corrected = (json.loads(delivery_body(one, BOX)) for one in (first, last))
    assert (early["event"], corrected["event"]) == ("alert.triggered", "alert.corrected")
    assert early["id"] != corrected["id"]
    assert early["data"]["triggerId"] == corrected["data"]["triggerId"]
    assert (early["data"]["phase"], early["data"]["provisional"]) == ("early", True)
    assert (corrected["data"]["phase"], corrected["data"]["earlyPlate"]) == ("withdrawn", "AB12")
    assert "earlyPlate" not in early["data"]
    assert "provisional" not in corrected["data"]
    times = [each["data"]["alert"]["lastTriggeredAt"] for each in (early, corrected)]
    assert times[0] == times[1] == early["data"]["recognition"]["timestamp"]


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
    payload = json.loads(delivery_body(made, BOX))
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
        decoder=None,
        sample_fps=None,
        zones=[],
        min_plate_width=0,
        timezone=None,
        created_at=datetime.fromtimestamp(at_ms / 1000, tz=UTC),
    )

    assert payload["data"]["camera"] | {"zones": []} == _api(shown)
    assert payload["data"]["at"] == payload["createdAt"]
    assert payload["replay"] is True
    assert UUID(payload["id"]) == made.event_id
