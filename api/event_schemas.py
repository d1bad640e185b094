"""The section ``webhooks`` of the description: what receivers get, from the payloads themselves."""

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
"""What events hold as answers do, under the names that it has there."""
_SUMMARIES: Final = {
    EventName.RECOGNITION_CREATED: "A plate was recognized",
    EventName.ALERT_TRIGGERED: "An alert fired",
    EventName.ALERT_CONFIRMED: "An alert that fired early was right",
    EventName.ALERT_CORRECTED: "An alert that fired early was for another plate, or for nothing",
    EventName.CAMERA_ONLINE: "A camera connected",
    EventName.CAMERA_OFFLINE: "A camera disconnected",
}
_SIGNATURE: Final = {
    "name": "X-Signature-256",
    "in": "header",
    "required": True,
    "description": "Hexadecimal HMAC-SHA256 of the raw body under the webhook's secret.",
    "schema": {"type": "string"},
}


def event_description() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the section ``webhooks`` and the schemas that it needs."""
    kinds = (RecognitionEventData, AlertEventData, CameraEventData, AlertPayload)
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    # The payload's type is made from the record's fields, and the field is declared before it.
    schemas["AlertEventData"]["properties"]["alert"] = _reference("AlertPayload")
    for name in (msgspec.Struct.__name__, *_SAME):
        schemas.pop(name)
    _refer_to_answers(schemas)
    return {event.value: _webhook(event) for event in EventName}, schemas


def _webhook(event: EventName) -> dict[str, Any]:
    envelope = {
        "type": "object",
        "properties": {
            "id": {
                "type": "string",
                "format": "uuid",
                "description": "Of the event: the same on every attempt and for every receiver.",
            },
            "event": {"const": event.value, "type": "string", "description": "The event's name."},
            "createdAt": {
                "type": "string",
                "format": "date-time",
                "description": "When the event happened; UTC.",
            },
            "data": _reference(_DATA[event].__name__),
            "test": {"type": "boolean", "description": "Only where it is true: a test."},
            "replay": {"type": "boolean", "description": "Only where it is true: sent again."},
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
            "responses": {"2XX": {"description": "Taken; anything else is tried again or final."}},
        }
    }


def _refer_to_answers(part: Any) -> None:
    if isinstance(part, dict) and "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        part["$ref"] = _REFERENCE.format(name=_SAME.get(name, name))
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _refer_to_answers(each)


def _reference(name: str) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=name)}
