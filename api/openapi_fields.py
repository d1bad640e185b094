"""What fields mean whose models say nothing of their own: the same name, the same sentence.

Bodies, answers and events show the same things again and again. A model describes a field where it
is special to it; all others find their sentence, example and range here, when the OpenAPI
description is made (``tests/unit/api/test_openapi_fields.py`` holds that none is left without).
"""

from collections.abc import Mapping
from typing import Any, Final

SENTENCES: Final[Mapping[str, str]] = {
    # A place of its own before the name alone.
    "AcceptedAnswer.email": "The address to log in with.",
    "AlertBody.id": "Id of the alert.",
    "AlertCreate.timezone": "IANA name; in which the schedule is read. Null: the account's.",
    "AlertEventData.late": "True: told late, as the frame was read late.",
    "AlertUpdate.timezone": "IANA name; in which the schedule is read. Null: the account's.",
    "AnalyticsBody.stats": "Totals.",
    "ApiKeyBody.id": "Id of the key.",
    "ApiKeyBody.enabled": "False: the key is refused.",
    "ApiKeyBody.name": "The key's name.",
    "ApiKeyCreate.enabled": "False: the key is refused.",
    "ApiKeyCreate.name": "A name to know the key by.",
    "ApiKeyUpdate.enabled": "False: the key is refused.",
    "ApiKeyUpdate.name": "A name to know the key by.",
    "AppriseNotificationBody.id": "The one that a masked address stands for.",
    "AppriseNotificationBody.type": "`apprise`.",
    "AppriseNotificationBody.url": "Its Apprise address.",
    "AppriseNotificationView.id": "Tells it from the others.",
    "AppriseNotificationView.type": "`apprise`.",
    "AppriseNotificationView.url": "Its service, masked.",
    "CameraBody.id": "Id of the camera.",
    "CameraEventData.at": "When the camera connected or disconnected; UTC.",
    "CorrectedBody.correction": "What a person wrote beside the reading.",
    "CorrectionAnswer.correction": "The correction as it is kept.",
    "DeliveryBody.id": "Id of the delivery.",
    "EmailNotificationBody.type": "`email`.",
    "EmailNotificationView.type": "`email`.",
    "InvitationBody.id": "Id of the invitation.",
    "LedgerEntryBody.createdAt": "When it was booked; UTC.",
    "LedgerEntryBody.kind": "Granted, taken or given back.",
    "LedgerEntryBody.reason": "The cause, in words.",
    "PersonBody.id": "Id of the person.",
    "PersonUpdate.enabled": "False: cannot log in; open sessions end.",
    "PlateEntry.lastSeenAt": "Its latest recognition; UTC.",
    "PlateResult.plateType": "Shape of the plate: `car`, `two-row` or `motorcycle`.",
    "QueuedBody.id": "Id of the delivery.",
    "RecognitionDeliveryBody.id": "Id of the delivery.",
    "Replay.from": "Events from this moment on; UTC.",
    "Replay.to": "Events before this moment; UTC.",
    "RotateSecret.secret": "The new secret; null: the service makes one.",
    "SendTest.event": "The event to make up; null: the first that the webhook wants.",
    "WebhookBody.events": "The events that it gets.",
    "WebhookBody.id": "Id of the webhook.",
    "WebhookBody.url": "Where events are sent; scheme and host alone without webhooks:read.",
    "WebhookCreate.secret": "Key of the signatures; null: the service makes one.",
    "WebhookNotificationBody.type": "`webhook`.",
    "WebhookNotificationView.type": "`webhook`.",
    # The same wherever they stand.
    "addresses": "E-mail addresses.",
    "alert": "The alert.",
    "alertId": "Id of the alert.",
    "alertName": "The alert's name.",
    "alerts": "The alerts.",
    "apiKey": "The key's record.",
    "apiKeys": "The keys, newest first.",
    "attempts": "Attempts so far.",
    "balance": "Credits after it.",
    "camera": "The camera.",
    "cameraId": "Id of the camera.",
    "cameraIds": "The cameras, where `cameraScope` is `specific`.",
    "cameraName": "The camera's name at that time.",
    "cameraScope": "All cameras, or those of `cameraIds`.",
    "cameras": "The cameras, newest first.",
    "cause": "Why it is sent.",
    "channel": "The way that it goes.",
    "charConfs": "Each character's sureness, 0 to 1, with `;` between.",
    "conf": "The chance that the text is right, in per cent.",
    "confidence": "The chance that the plate is right.",
    "cooldownMinutes": "Minutes after firing in which it does not fire again.",
    "cooldownScope": "What the cooldown holds back: the whole alert, its plate, or that plate at"
    " that camera.",
    "coordinateBottom": "Lower edge of the plate, in pixels from the top.",
    "coordinateLeft": "Left edge of the plate, in pixels from the left.",
    "coordinateRight": "Right edge of the plate, in pixels from the left.",
    "coordinateTop": "Upper edge of the plate, in pixels from the top.",
    "count": "Recognitions.",
    "createdAt": "When it was made; UTC.",
    "credits": "Credits that are left.",
    "creditsRefunded": "Credits given back for the unused rest of the subscription.",
    "creditsRemaining": "Credits that are left after this call.",
    "date": "The day, in the account's time zone.",
    "daysOfWeek": "The days on which the window begins; empty: all.",
    "deliveries": "The deliveries.",
    "delivery": "The delivery.",
    "delta": "Credits that came (positive) or went.",
    "description": "A text for people.",
    "early": "Fires as soon as two readings agree, before the vehicle is gone.",
    "earlyPlate": "The plate that was told early, where another came out.",
    "email": "E-mail address.",
    "enabled": "False: switched off.",
    "endTime": "The last minute of the window, HH:MM; before the start: overnight.",
    "event": "The event's name.",
    "eventId": "Id of the event: the same on every attempt and for every receiver.",
    "events": "The events to send.",
    "expiresAt": "Not valid from then on; UTC. Null: it does not end.",
    "frameHeight": "Height of the camera's pictures in pixels; null: not known yet.",
    "frameWidth": "Width of the camera's pictures in pixels; null: not known yet.",
    "hour": "The hour of the day, in the account's time zone.",
    "id": "Its id.",
    "identifier": "Unique in the account; made of the address where none is given.",
    "imageHeight": "Height of the picture in pixels, as a person sees it.",
    "imageWidth": "Width of the picture in pixels, as a person sees it.",
    "invitation": "The invitation.",
    "invitations": "The open invitations, newest first.",
    "invitedBy": "Address of the administrator who invites.",
    "kind": "Inside (`include`) or outside (`exclude`) plates are read.",
    "lastAttemptAt": "When it was last tried; UTC.",
    "lastDeliveryAt": "When something was last sent; UTC. Null: never.",
    "lastDeliveryStatus": "HTTP status of the last attempt; null: no answer, or none yet.",
    "lastDurationMs": "Milliseconds that the last attempt took.",
    "lastError": "What was wrong last, in a sentence; null: nothing.",
    "lastLogInAt": "UTC; null: never.",
    "lastSeenAt": "When the last picture came; UTC. Null: none yet.",
    "lastTriggeredAt": "When it last fired, capture time; UTC. Null: never.",
    "ledger": "The latest changes, newest first.",
    "location": "Where it is, for people.",
    "matchTolerance": "Look-alike and edit errors that are allowed.",
    "minConfidence": "Less sure recognitions do not count.",
    "minPlateWidth": "Narrower plates, in pixels, are not read.",
    "name": "Its name.",
    "nextAttemptAt": "When it is tried again; UTC. Null: not any more.",
    "notification": "Its place among the notifications, from 0.",
    "notifications": "Who is told besides webhooks.",
    "outcome": "What the last attempt came to.",
    "password": "The password.",
    "people": "The people of the account.",
    "person": "The person.",
    "phase": "Where the alert stands: told early, settled, or final at once.",
    "plate": "Upper case, without separators.",
    "plateMatchMode": "Any plate, those of `plates`, or all but those.",
    "plates": "The plates.",
    "points": "Corners of the polygon.",
    "processingTimeMs": "Milliseconds that the call took.",
    "provisional": "True: told before the vehicle was gone; may be corrected.",
    "queued": "Events that are sent again.",
    "recognition": "The recognition.",
    "recognitionId": "Id of the recognition.",
    "rtspUrl": "Address of the stream; a password is shown as `***`.",
    "sampleFps": "Frames a second that are looked at; null: the installation's.",
    "schedule": "The window of time in which it may fire.",
    "scheduleEnabled": "False: it may fire at any time.",
    "scopes": "What it may do.",
    "session": "The session.",
    "sessions": "The account's sessions.",
    "startTime": "The first minute of the window, HH:MM.",
    "status": "Whether pictures come.",
    "test": "What came of it.",
    "timestamp": "When the frame was captured whose reading won; UTC.",
    "timezone": "IANA name; null: the account's.",
    "triggerCount": "How often it fired.",
    "triggerId": "Id of this firing: the same in all that is told of it.",
    "url": "Its address, http or https.",
    "webhook": "The webhook.",
    "webhooks": "The webhooks, newest first.",
    "x": "From the left.",
    "y": "From the top.",
    "zones": "Where plates are read, and where not; empty: everywhere.",
    "overlapHours": "Hours for which the former secret signs as well.",
}
"""Sentences by field, or by body and field where that differs."""

EXAMPLES: Final[Mapping[str, Any]] = {
    "AppriseNotificationBody.id": "5f0c91d2",
    "AppriseNotificationBody.type": "apprise",
    "AppriseNotificationBody.url": "ntfys://ntfy.example.com/gate",
    "AppriseNotificationView.id": "5f0c91d2",
    "AppriseNotificationView.url": "ntfys://***",
    "EmailNotificationBody.type": "email",
    "WebhookNotificationBody.type": "webhook",
    "activeApiKeys": 3,
    "activeCameras": 12,
    "addresses": ["guard@example.com"],
    "alertName": "Stolen cars",
    "at": "2026-11-21T16:32:52.301Z",
    "attempts": 1,
    "balance": 9_999,
    "cameraName": "Gate north",
    "characterConfidences": [0.99, 0.98, 0.97, 0.99, 0.95, 0.96, 0.95],
    "conf": 97.3,
    "confidence": 0.97,
    "cooldownMinutes": 5,
    "coordinateBottom": 688,
    "coordinateLeft": 412,
    "coordinateRight": 540,
    "coordinateTop": 652,
    "count": 42,
    "createdAt": "2026-11-21T16:32:52.301Z",
    "credits": 9_999,
    "creditsRefunded": 12,
    "creditsRemaining": 9_999,
    "cropUrl": "owner/2026/11/21/crop.jpg",
    "currentPassword": "the password until now",
    "date": "2026-11-21",
    "delta": -1,
    "description": "From the police list",
    "disabledReason": "20 deliveries in a row failed.",
    "earlyPlate": "AB12CDE",
    "email": "ana@example.com",
    "endTime": "06:00",
    "error": "The request is not valid; see fields.",
    "evaluated": 1_200,
    "failedAttempts": 0,
    "failureCount": 0,
    "fired": 3,
    "firstSeenAt": "2026-11-21T16:32:51.101Z",
    "frameHeight": 1080,
    "frameWidth": 1920,
    "headers": {"X-Tenant": "north"},
    "heatMap": [[0] * 24] * 7,
    "height": 36,
    "hour": 17,
    "id": "0199c2b4-6f0a-7c3e-9a51-2d8c5b7e4f10",
    "identifier": "gate-north",
    "imageHeight": 1080,
    "imageWidth": 1920,
    "invitedBy": "ana@example.com",
    "lastDeliveryStatus": 200,
    "lastDurationMs": 84,
    "lastError": "The camera does not answer.",
    "lastSeenAt": "2026-11-21T16:32:53.501Z",
    "lastStatus": 200,
    "lastTriggeredAt": "2026-11-21T16:32:52.301Z",
    "location": "Yard, east side",
    "matched": 5,
    "matchTolerance": 0,
    "milliseconds": 640,
    "minConfidence": 0.8,
    "minPlateWidth": 60,
    "name": "Gate north",
    "newPassword": "a better password than that",
    "nextKey": "eyJ0IjoxNzY0MH0",
    "notification": 0,
    "notificationSecret": "whsec_3X1yq0h3PBl1c2r7m4iT8Q0wq6b8v1u7nZ3m9k2s5dE=",
    "overlapHours": 24,
    "password": "correct horse battery staple",
    "photoUrl": "owner/2026/11/21/photo.jpg",
    "picture": "/9j/4AAQSkZJRg==",
    "plate": "AB12CDE",
    "plates": ["AB12CDE", "XY*"],
    "plateType": "car",
    "points": [{"x": 0.1, "y": 0.4}, {"x": 0.9, "y": 0.4}, {"x": 0.5, "y": 1}],
    "processingTimeMs": 48.2,
    "queued": 17,
    "readingsCount": 9,
    "reason": "image call",
    "region": "PT",
    "requestId": "0b1f7c5e9a9d4c7f8f1f2a6d5c3b4e21",
    "retryAfter": 12,
    "rtspUrl": "rtsp://viewer:***@192.168.1.20:554/stream1",
    "sampleFps": 5,
    "secret": "whsec_3X1yq0h3PBl1c2r7m4iT8Q0wq6b8v1u7nZ3m9k2s5dE=",
    "startTime": "22:00",
    "successRate": 97.4,
    "timestamp": "2026-11-21T16:32:52.301Z",
    "timezone": "Europe/Lisbon",
    "token": "k3J9x0Q2vT7mB4n8",
    "total30d": 48_211,
    "triggerCount": 3,
    "url": "https://receiver.example.com/plates",
    "width": 128,
    "x": 0.25,
    "y": 0.5,
}
"""Examples by field, for those that say none."""

_NOT_NEGATIVE: Final[Mapping[str, int]] = {"minimum": 0}
_FRACTION: Final[Mapping[str, int]] = {"minimum": 0, "maximum": 1}

RANGES: Final[Mapping[str, Mapping[str, int]]] = {
    **dict.fromkeys(
        (
            *("attempts", "balance", "coordinateBottom", "coordinateLeft", "coordinateRight"),
            *("coordinateTop", "cooldownMinutes", "count", "credits", "creditsRefunded"),
            *("creditsRemaining", "evaluated", "failedAttempts", "failureCount", "fired"),
            *("frameHeight", "frameWidth", "height", "imageHeight", "imageWidth"),
            *("lastDurationMs", "matched", "milliseconds", "minPlateWidth", "processingTimeMs"),
            *("queued", "readingsCount", "retryAfter", "triggerCount", "width"),
        ),
        _NOT_NEGATIVE,
    ),
    **dict.fromkeys(("confidence", "minConfidence", "Point.x", "Point.y"), _FRACTION),
    "hour": {"minimum": 0, "maximum": 23},
    "matchTolerance": {"minimum": 0, "maximum": 2},
    **dict.fromkeys(("lastDeliveryStatus", "lastStatus"), {"minimum": 100, "maximum": 599}),
    "sampleFps": {"exclusiveMinimum": 0, "maximum": 60},
    "x": _NOT_NEGATIVE,
    "y": _NOT_NEGATIVE,
}
"""Ranges of numbers by field, for those that say none."""


_SHOWN_AS: Final[Mapping[str, str]] = {
    "AlertPayload": "AlertBody",
    "CameraPayload": "CameraBody",
}
"""What events hold, and the answers that show the same."""


def describe_fields(schemas: dict[str, Any]) -> None:
    """Complete the fields of ``schemas`` by name; what they say themselves stays."""
    for name, shown in _SHOWN_AS.items():
        _take_over(schemas[name], schemas[shown])
    for name, schema in schemas.items():
        for field, part in schema.get("properties", {}).items():
            _complete(part, f"{name}.{field}", field)


def _take_over(payload: dict[str, Any], shown: dict[str, Any]) -> None:
    payload.setdefault("description", shown["description"])
    for field, part in payload["properties"].items():
        known = shown["properties"].get(field, {})
        part |= {
            key: known[key] for key in ("description", "examples") if key in known.keys() - part
        }


def _complete(part: dict[str, Any], place: str, field: str) -> None:
    sentence = SENTENCES.get(place) or SENTENCES.get(field)
    if sentence and "description" not in part:
        part["description"] = sentence
    example = EXAMPLES.get(place, EXAMPLES.get(field))
    if example is not None and not _speaks_for_itself(part):
        part["examples"] = [example]
    limits = RANGES.get(place) or RANGES.get(field, {})
    for kind in (part, *part.get("anyOf", ())):
        if kind.get("type") in ("integer", "number") and not _has_range(kind):
            kind |= limits


def _speaks_for_itself(part: dict[str, Any]) -> bool:
    kinds = (part, *part.get("anyOf", ()))
    return any(
        not {"examples", "const", "enum", "$ref"}.isdisjoint(kind)
        or kind.get("format") in ("uuid", "date-time")
        or kind.get("type") == "boolean"
        or "$ref" in kind.get("items", ())
        for kind in kinds
    )


def _has_range(kind: dict[str, Any]) -> bool:
    return not {"minimum", "exclusiveMinimum", "maximum"}.isdisjoint(kind)
