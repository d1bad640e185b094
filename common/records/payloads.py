"""Converts recognitions, alerts, cameras and events to JSON for clients. No I/O.

Webhooks, MQTT messages and API responses all use the JSON forms defined here.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from common.records.alerts import (
    ALERT_FIELDS,
    AlertConfig,
    AlertTrigger,
    Notification,
    TriggerPhase,
)
from common.records.cameras import CameraState
from common.records.deliveries import CameraEvent, Delivery, DeliveryCause
from common.records.frames import Box, Zone
from common.records.recognitions import (
    CharacterAlternative,
    Direction,
    Recognition,
    RecognitionSource,
)
from common.records.regions import region_code
from common.records.webhooks import EventName
from common.secrets import SecretBox
from common.timestamps import format_timestamp
from common.urls.streams import mask_password

_PlateName = Annotated[
    str,
    msgspec.Meta(description="Name of the plate in the alert's list.", examples=["Courier"]),
]


class Payload(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of the public JSON forms: frozen, camelCase, without a version field."""


class RegionPayload(Payload, frozen=True, kw_only=True):
    """Country of a plate: its ISO 3166-1 code, or the name given by a third-party model.

    ``confidence`` (0 to 1) is absent if only the order of letters and digits shows the country.
    """

    code: str
    confidence: float | UnsetType = UNSET


class AlternativePayload(Payload, frozen=True, kw_only=True):
    """A likely alternative character at a position of the plate."""

    position: int
    character: str
    confidence: float


class RecognitionPayload(Payload, frozen=True, kw_only=True):
    """A recognition as in lists. Images are storage keys. Unknown values are absent."""

    id: UUID
    user_id: UUID
    camera_id: UUID
    camera_name: str
    plate: str
    confidence: float
    timestamp: str
    photo_url: str | UnsetType = UNSET
    crop_url: str | UnsetType = UNSET
    plate_coordinates: Box | UnsetType = UNSET
    region: RegionPayload | UnsetType = UNSET
    plate_type: str | UnsetType = UNSET
    character_confidences: tuple[float, ...] | UnsetType = UNSET
    character_alternatives: tuple[AlternativePayload, ...] | UnsetType = UNSET
    first_seen_at: str | UnsetType = UNSET
    last_seen_at: str | UnsetType = UNSET
    readings_count: int | UnsetType = UNSET
    source: RecognitionSource | UnsetType = UNSET
    direction: Direction | UnsetType = UNSET


AlertPayload = msgspec.defstruct(
    "AlertPayload",
    [
        ("id", UUID),
        *ALERT_FIELDS.items(),
        ("last_triggered_at", str),
        ("created_at", str),
    ],
    bases=(Payload,),
    frozen=True,
    kw_only=True,
)
"""An alert at the time of its trigger, created from the record's public fields.

The alert's trigger count and ``notifications`` are omitted. A receiver must not learn the addresses
of other receivers.
"""


class CameraPayload(Payload, frozen=True, kw_only=True):
    """The camera at the time of the event. The password in its URL is masked.

    MQTT messages do not include the URL.
    """

    id: UUID
    identifier: str
    name: str
    location: str
    rtsp_url: str | UnsetType = UNSET
    enabled: bool
    status: CameraState
    last_seen_at: str | None
    last_error: str | None
    frame_width: int | None
    frame_height: int | None
    decoder: str | None
    sample_fps: float | None
    zones: tuple[Zone, ...]
    min_plate_width: int
    timezone: str | None
    created_at: str


class RecognitionEventData(Payload, frozen=True, kw_only=True):
    """Payload of `recognition.created`."""

    recognition: RecognitionPayload


class AlertEventData(Payload, frozen=True, kw_only=True):
    """Payload of `alert.triggered`, `alert.confirmed` and `alert.corrected`.

    `triggerId` is identical in all events of one trigger. `late` means that the vehicle has
    certainly left. `phase` is set if the alert triggered early; `provisional` is true until the
    trigger is confirmed or corrected. `earlyPlate` is the plate reported before. `plateName` is the
    plate's name in the alert's list.
    """

    alert: msgspec.Struct
    recognition: RecognitionPayload
    trigger_id: UUID
    late: bool | UnsetType = UNSET
    phase: TriggerPhase | UnsetType = UNSET
    provisional: bool | UnsetType = UNSET
    early_plate: str | UnsetType = UNSET
    plate_name: _PlateName | UnsetType = UNSET


class CameraEventData(Payload, frozen=True, kw_only=True):
    """Payload of `camera.online` and `camera.offline`."""

    camera: CameraPayload
    at: str


class EventEnvelope(Payload, frozen=True, kw_only=True):
    """The body of an event. ``test`` and ``replay`` are absent if false."""

    id: UUID
    event: EventName
    created_at: str
    data: RecognitionEventData | AlertEventData | CameraEventData
    test: bool | UnsetType = UNSET
    replay: bool | UnsetType = UNSET


def delivery_body(delivery: Delivery, box: SecretBox) -> bytes:
    """Return the JSON body of a delivery. Every attempt gets the same bytes.

    Raises:
        MisconfiguredError: a value in the delivery was encrypted with a different key.
    """
    envelope = EventEnvelope(
        id=delivery.event_id,
        event=delivery.event,
        created_at=format_timestamp(delivery.created_ms),
        data=_event_data(delivery, box),
        test=delivery.cause is DeliveryCause.TEST or UNSET,
        replay=delivery.cause is DeliveryCause.REPLAY or UNSET,
    )
    return msgspec.json.encode(envelope)


def _event_data(
    delivery: Delivery, box: SecretBox
) -> RecognitionEventData | AlertEventData | CameraEventData:
    if delivery.trigger is not None:
        return alert_event_data(delivery.trigger)
    if delivery.camera is not None:
        return camera_event_data(delivery.camera, box)
    assert delivery.recognition is not None, delivery.event
    return RecognitionEventData(recognition=recognition_payload(delivery.recognition))


def shared_fields(source: msgspec.Struct, target: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Return the values of all fields of ``source`` that ``target`` also has, by name."""
    names, values_of = _shared_names(type(source), target)
    return dict(zip(names, values_of(source), strict=True))


@lru_cache
def _shared_names(
    source: type[msgspec.Struct], target: type[msgspec.Struct]
) -> tuple[tuple[str, ...], Callable[[msgspec.Struct], tuple[Any, ...]]]:
    known = frozenset(source.__struct_fields__)
    names = tuple(name for name in target.__struct_fields__ if name in known)
    return names, attrgetter(*names)


def recognition_payload(recognition: Recognition) -> RecognitionPayload:
    """Return a recognition as JSON for clients. Images are storage keys."""
    return recognition_fields(
        recognition,
        user_id=recognition.owner_id,
        photo_url=recognition.photo_key,
        crop_url=recognition.crop_key,
    )


def recognition_fields(
    known: Any, *, user_id: UUID, photo_url: str | None, crop_url: str | None
) -> RecognitionPayload:
    """Return a recognition as JSON for clients, with its account and the given image URLs.

    ``known`` is a :class:`Recognition` or its row, which has the same field names.
    """
    return RecognitionPayload(
        id=known.id,
        user_id=user_id,
        camera_id=known.camera_id,
        camera_name=known.camera_name,
        plate=known.plate,
        confidence=known.confidence,
        timestamp=format_timestamp(known.captured_ms),
        photo_url=photo_url or UNSET,
        crop_url=crop_url or UNSET,
        plate_coordinates=known.box or UNSET,
        region=_region(known.region, known.region_confidence),
        plate_type=known.plate_type,
        character_confidences=known.character_confidences or UNSET,
        character_alternatives=tuple(map(_alternative, known.alternatives)) or UNSET,
        first_seen_at=format_timestamp(known.first_seen_ms),
        last_seen_at=format_timestamp(known.last_seen_ms),
        readings_count=known.readings_count or UNSET,
        source=known.source,
        direction=known.direction or UNSET,
    )


def _alternative(known: CharacterAlternative) -> AlternativePayload:
    return AlternativePayload(**msgspec.structs.asdict(known))


def _region(region: str | None, confidence: float | None) -> RegionPayload | UnsetType:
    if region is None:
        return UNSET
    return RegionPayload(
        code=region_code(region), confidence=UNSET if confidence is None else confidence
    )


def alert_event_data(trigger: AlertTrigger) -> AlertEventData:
    """Return the data of an alert's event."""
    return AlertEventData(
        alert=_alert_payload(trigger),
        recognition=recognition_payload(trigger.recognition),
        trigger_id=trigger.id,
        late=trigger.is_late or UNSET,
        phase=UNSET if trigger.phase is TriggerPhase.FINAL else trigger.phase,
        provisional=trigger.phase is TriggerPhase.EARLY or UNSET,
        early_plate=UNSET if trigger.early is None else trigger.early.plate,
        plate_name=trigger.alert.plate_name(trigger.recognition.plate) or UNSET,
    )


def notifications_of(alert: AlertConfig, box: SecretBox) -> tuple[Notification, ...]:
    """Return an alert's own notifications.

    Raises:
        MisconfiguredError: the notifications were encrypted with a different key.
    """
    text = box.decrypt(alert.notifications_encrypted) if alert.notifications_encrypted else "[]"
    return msgspec.json.decode(text, type=tuple[Notification, ...])


def _alert_payload(trigger: AlertTrigger) -> msgspec.Struct:
    alert = trigger.alert
    return AlertPayload(
        id=alert.alert_id,
        last_triggered_at=format_timestamp(trigger.triggered_ms),
        created_at=format_timestamp(alert.created_ms),
        **shared_fields(alert, AlertPayload),
    )


def camera_event_data(event: CameraEvent, box: SecretBox | None) -> CameraEventData:
    """Return the data of camera.online and camera.offline. Without ``box``, the URL is omitted.

    Raises:
        MisconfiguredError: the camera's stream URL was encrypted with a different key.
    """
    camera, status = event.camera, event.status
    return CameraEventData(
        camera=CameraPayload(
            id=camera.camera_id,
            rtsp_url=UNSET if box is None else _masked(camera.stream_url_encrypted, box),
            status=status.state,
            last_seen_at=_timestamp(status.last_seen_ms),
            last_error=status.last_error,
            frame_width=status.frame_width_px,
            frame_height=status.frame_height_px,
            decoder=status.decoder,
            min_plate_width=camera.min_plate_width_px,
            created_at=format_timestamp(camera.created_ms),
            **shared_fields(camera, CameraPayload),
        ),
        at=format_timestamp(status.at_ms),
    )


def _masked(encrypted: str, box: SecretBox) -> str:
    return mask_password(box.decrypt(encrypted))


def _timestamp(unix_ms: int | None) -> str | None:
    return None if unix_ms is None else format_timestamp(unix_ms)
