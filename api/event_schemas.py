"""Generates the section ``webhooks`` of the OpenAPI description from the payload types."""

from typing import Any, Final

import msgspec

from common.records.payloads import (
    AlertEventData,
    AlertPayload,
    CameraEventData,
    RecognitionEventData,
)
from common.records.webhooks import EventName

_REFERENCE: Final = "#/components/schemas/{name}"
_DATA: Final = {
    EventName.RECOGNITION_CREATED: RecognitionEventData,
    EventName.ALERT_TRIGGERED: AlertEventData,
    EventName.ALERT_CONFIRMED: AlertEventData,
    EventName.ALERT_CORRECTED: AlertEventData,
    EventName.CAMERA_ONLINE: CameraEventData,
    EventName.CAMERA_OFFLINE: CameraEventData,
}
_SAME: Final = {
    "AlternativePayload": "CharacterAlternativeBody",
    "Box": "PlateCoordinates",
    "RecognitionPayload": "RecognitionBody",
    "RegionPayload": "PlateRegion",
}
"""Payload types that are identical to a response type, mapped to that response type."""
_SHOWN_AS: Final = {
    "AlertPayload": "AlertBody",
    "AlertSchedule": "ScheduleView",
    "CameraPayload": "CameraBody",
    "Point": "PointBody",
    "Zone": "ZoneView",
}
"""Payload types, mapped to the response types that describe the same fields."""
_FIELDS: Final[dict[str, dict[str, Any]]] = {
    "alert": {"description": "The alert."},
    "at": {
        "description": "Time at which the camera connected or disconnected (UTC).",
        "examples": ["2026-11-21T16:32:52.301Z"],
    },
    "camera": {"description": "The camera."},
    "createdAt": {"examples": ["2026-11-21T16:32:52.301Z"]},
    "earlyPlate": {
        "description": "Plate sent in the early alert, if the final reading differs.",
        "examples": ["AB12CDE"],
    },
    "lastSeenAt": {"examples": ["2026-11-21T16:32:53.501Z"]},
    "lastTriggeredAt": {"examples": ["2026-11-21T16:32:52.301Z"]},
    "late": {"description": "True if the frame was processed late."},
    "phase": {"description": "Phase: `early`, then `confirmed` or `corrected`; or `final`."},
    "provisional": {"description": "True while the trigger may still be corrected."},
    "recognition": {"description": "The recognition."},
    "triggerId": {"description": "ID of the trigger; identical in all events about it."},
}
"""OpenAPI keywords of fields that no response type describes."""
_KEYWORDS: Final = ("description", "examples", "minimum", "maximum", "exclusiveMinimum")
_SUMMARIES: Final = {
    EventName.RECOGNITION_CREATED: "A plate was recognised",
    EventName.ALERT_TRIGGERED: "An alert was triggered",
    EventName.ALERT_CONFIRMED: "An early alert was confirmed",
    EventName.ALERT_CORRECTED: "An early alert was corrected or withdrawn",
    EventName.CAMERA_ONLINE: "A camera went online",
    EventName.CAMERA_OFFLINE: "A camera went offline",
}
_SIGNATURE: Final = {
    "name": "X-Signature-256",
    "in": "header",
    "required": True,
    "description": "Hex-encoded HMAC-SHA256 of the raw body, keyed with the webhook's secret.",
    "schema": {"type": "string"},
}


def event_description() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the section ``webhooks`` and the schemas to which the section refers."""
    kinds = (RecognitionEventData, AlertEventData, CameraEventData, AlertPayload)
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    # This field is declared before its type, which is created from the record's fields.
    schemas["AlertEventData"]["properties"]["alert"] = _reference("AlertPayload")
    for name in (msgspec.Struct.__name__, *_SAME):
        schemas.pop(name)
    _refer_to_responses(schemas)
    return {event.value: _webhook(event) for event in EventName}, schemas


def show_payloads(schemas: dict[str, Any]) -> None:
    """Add descriptions to the fields of events, most of them copied from response types."""
    for name in (*(kind.__name__ for kind in set(_DATA.values())), *_SHOWN_AS):
        shown = schemas.get(_SHOWN_AS.get(name, ""), {})
        schemas[name].setdefault("description", shown.get("description"))
        for field, part in schemas[name]["properties"].items():
            known = {**_FIELDS.get(field, {}), **shown.get("properties", {}).get(field, {})}
            part |= {key: known[key] for key in _KEYWORDS if key in known and key not in part}
            if "anyOf" in known.keys() & part.keys() and "$ref" not in str(part):
                part["anyOf"] = known["anyOf"]


def _webhook(event: EventName) -> dict[str, Any]:
    envelope = {
        "type": "object",
        "properties": {
            "id": {
                "type": "string",
                "format": "uuid",
                "description": "ID of the event; identical for every attempt and every receiver.",
            },
            "event": {"const": event.value, "type": "string", "description": "Event name."},
            "createdAt": {
                "type": "string",
                "format": "date-time",
                "description": "Time of the event (UTC).",
            },
            "data": _reference(_DATA[event].__name__),
            "test": {"type": "boolean", "description": "True for a test event; otherwise absent."},
            "replay": {"type": "boolean", "description": "True for a replay; otherwise absent."},
        },
        "required": ["id", "event", "createdAt", "data"],
    }
    return {
        "post": {
            "operationId": f"on_{event.value.replace('.', '_')}",
            "summary": _SUMMARIES[event],
            "parameters": [_SIGNATURE],
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": envelope}},
            },
            "responses": {
                "2XX": {
                    "description": "Accepted. Other statuses except redirects and 410 are retried."
                }
            },
        }
    }


def _refer_to_responses(part: Any) -> None:
    if isinstance(part, dict) and "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        part["$ref"] = _REFERENCE.format(name=_SAME.get(name, name))
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _refer_to_responses(each)


def _reference(name: str) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=name)}
