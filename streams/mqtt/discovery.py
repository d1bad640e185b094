"""Creates the discovery message that adds a camera to Home Assistant automatically. No I/O.

**Source:** Home Assistant, MQTT integration, "Device discovery payload" (2024.11 and later).
"""

from importlib.metadata import version
from typing import Any

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


def discovery_payload(names: TopicNames, camera: CameraConfig, *, has_image: bool) -> bytes:
    """Return the message that describes a camera as a device with entities in Home Assistant.

    ``has_image``: whether to include the image of the latest pass.
    """
    device = {
        "identifiers": [f"platestream_{camera.camera_id}"],
        "name": camera.name,
        "manufacturer": "Platestream",
        "model": "Camera",
    }
    if camera.location:
        device["suggested_area"] = camera.location
    discovery = {
        "device": device,
        "origin": {"name": "Platestream", "sw_version": version("platestream")},
        "components": _components(names, camera, has_image=has_image),
        "qos": 1,
    }
    return msgspec.json.encode(discovery)


def _components(names: TopicNames, camera: CameraConfig, *, has_image: bool) -> dict[str, Any]:
    owner, identifier = camera.owner_id, camera.camera_id
    recognitions, alerts = names.recognition(owner, identifier), names.alert(owner, identifier)

    def entity(platform: str, name: str, title: str, **fields: Any) -> dict[str, Any]:
        return {
            "platform": platform,
            "unique_id": f"platestream_{identifier}_{name}",
            "name": title,
            "availability_topic": names.availability,
            **fields,
        }

    return {
        "online": entity(
            "binary_sensor",
            "online",
            "Online",
            state_topic=names.state(owner, identifier),
            device_class="connectivity",
            payload_on="online",
            payload_off="offline",
        ),
        "last_plate": entity(
            "sensor",
            "last_plate",
            "Last plate",
            state_topic=recognitions,
            value_template=_PLATE,
            json_attributes_topic=recognitions,
            json_attributes_template=_RECOGNITION,
            icon="mdi:car",
        ),
        # Home Assistant removes an entity whose configuration has only a platform.
        "image": entity(
            "image",
            "image",
            "Latest pass",
            url_topic=names.image_url(owner, identifier),
            content_type="image/jpeg",
        )
        if has_image
        else {"platform": "image"},
        "alert": entity(
            "event",
            "alert",
            "Alert",
            state_topic=alerts,
            event_types=[EventName.ALERT_TRIGGERED],
            value_template=_ALERT,
            icon="mdi:bell-alert",
        ),
        "alert_settled": entity(
            "event",
            "alert_settled",
            "Alert resolved",
            state_topic=names.alert_settled(owner, identifier),
            event_types=[EventName.ALERT_CONFIRMED, EventName.ALERT_CORRECTED],
            value_template=_ALERT,
            icon="mdi:bell-alert",
        ),
        "alert_trigger": {
            "platform": "device_automation",
            "automation_type": "trigger",
            "topic": alerts,
            "type": "triggered",
            "subtype": "alert",
        },
    }
