"""Home Assistant's discovery message of a camera, so that it appears by itself. Pure.

**Source:** Home Assistant, MQTT integration, "Device discovery payload" (2024.11 and later).
"""

from importlib.metadata import version
from typing import Literal
from uuid import UUID

import msgspec

from common.records.cameras import CameraConfig
from common.records.webhooks import EventName
from streams.mqtt.messages import TopicNames

_PLATE = "{{ value_json.data.recognition.plate }}"
_RECOGNITION = (
    "{{ {'id': value_json.id, 'confidence': value_json.data.recognition.confidence,"
    " 'timestamp': value_json.data.recognition.timestamp} | tojson }}"
)
_ALERT = (
    "{{ {'event_type': value_json.event, 'id': value_json.id,"
    " 'alert': value_json.data.alert.name, 'plate': value_json.data.recognition.plate,"
    " 'plate_name': value_json.data.plateName | default(''),"
    " 'confidence': value_json.data.recognition.confidence,"
    " 'timestamp': value_json.data.recognition.timestamp,"
    " 'phase': value_json.data.phase | default('final')} | tojson }}"
)


class _Device(msgspec.Struct, frozen=True, kw_only=True):
    identifiers: tuple[str, ...]
    name: str
    manufacturer: str = "Platestream"
    model: str = "Camera"
    suggested_area: str | msgspec.UnsetType = msgspec.UNSET


class _Origin(msgspec.Struct, frozen=True, kw_only=True):
    name: str = "Platestream"
    sw_version: str = version("platestream")


class _OnlineSensor(msgspec.Struct, frozen=True, kw_only=True):
    unique_id: str
    state_topic: str
    availability_topic: str
    platform: Literal["binary_sensor"] = "binary_sensor"
    name: str = "Online"
    device_class: str = "connectivity"
    payload_on: str = "online"
    payload_off: str = "offline"


class _PlateSensor(msgspec.Struct, frozen=True, kw_only=True):
    unique_id: str
    state_topic: str
    json_attributes_topic: str
    availability_topic: str
    platform: Literal["sensor"] = "sensor"
    name: str = "Last plate"
    icon: str = "mdi:car"
    value_template: str = _PLATE
    json_attributes_template: str = _RECOGNITION


class _Image(msgspec.Struct, frozen=True, kw_only=True):
    """The picture of the newest pass. With its platform alone Home Assistant removes it."""

    platform: Literal["image"] = "image"
    unique_id: str | msgspec.UnsetType = msgspec.UNSET
    name: str | msgspec.UnsetType = msgspec.UNSET
    image_topic: str | msgspec.UnsetType = msgspec.UNSET
    content_type: str | msgspec.UnsetType = msgspec.UNSET
    availability_topic: str | msgspec.UnsetType = msgspec.UNSET


class _AlertEvent(msgspec.Struct, frozen=True, kw_only=True):
    unique_id: str
    state_topic: str
    availability_topic: str
    platform: Literal["event"] = "event"
    name: str
    icon: str = "mdi:bell-alert"
    event_types: tuple[EventName, ...]
    value_template: str = _ALERT


class _AlertTrigger(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    platform: Literal["device_automation"] = "device_automation"
    automation_type: str = "trigger"
    type: str = "triggered"
    subtype: str = "alert"


class _Components(msgspec.Struct, frozen=True, kw_only=True):
    online: _OnlineSensor
    last_plate: _PlateSensor
    picture: _Image
    alert: _AlertEvent
    alert_settled: _AlertEvent
    alert_trigger: _AlertTrigger


class _Discovery(msgspec.Struct, frozen=True, kw_only=True):
    device: _Device
    origin: _Origin
    components: _Components
    qos: int = 1


def discovery_payload(names: TopicNames, camera: CameraConfig, *, has_picture: bool) -> bytes:
    """Return the device that a camera is to Home Assistant, with its entities.

    ``has_picture``: whether one is the picture of the newest pass.
    """
    owner, identifier = camera.owner_id, camera.camera_id
    there = names.availability
    components = _Components(
        online=_OnlineSensor(
            unique_id=_unique(identifier, "online"),
            state_topic=names.state(owner, identifier),
            availability_topic=there,
        ),
        last_plate=_PlateSensor(
            unique_id=_unique(identifier, "last_plate"),
            state_topic=names.recognition(owner, identifier),
            json_attributes_topic=names.recognition(owner, identifier),
            availability_topic=there,
        ),
        picture=_Image(
            unique_id=_unique(identifier, "picture"),
            name="Newest pass",
            image_topic=names.picture(owner, identifier),
            content_type="image/jpeg",
            availability_topic=there,
        )
        if has_picture
        else _Image(),
        alert=_AlertEvent(
            unique_id=_unique(identifier, "alert"),
            state_topic=names.alert(owner, identifier),
            availability_topic=there,
            name="Alert",
            event_types=(EventName.ALERT_TRIGGERED,),
        ),
        alert_settled=_AlertEvent(
            unique_id=_unique(identifier, "alert_settled"),
            state_topic=names.alert_settled(owner, identifier),
            availability_topic=there,
            name="Alert settled",
            event_types=(EventName.ALERT_CONFIRMED, EventName.ALERT_CORRECTED),
        ),
        alert_trigger=_AlertTrigger(topic=names.alert(owner, identifier)),
    )
    device = _Device(
        identifiers=(f"platestream_{identifier}",),
        name=camera.name,
        suggested_area=camera.location or msgspec.UNSET,
    )
    return msgspec.json.encode(_Discovery(device=device, origin=_Origin(), components=components))


def _unique(camera_id: UUID, what: str) -> str:
    return f"platestream_{camera_id}_{what}"
