"""Recognitions, alerts and cameras as clients know them, and the envelope around them. Pure.

The same fields as the API's answers; a test holds both against each other.
"""

from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from contracts.alert_records import AlertTrigger
from contracts.alerts import (
    AlertConfig,
    AlertSchedule,
    CameraScope,
    CooldownScope,
    Notification,
    PlateMatchMode,
)
from contracts.cameras import CameraConfig, CameraState
from contracts.deliveries import CameraEvent, Delivery, DeliveryCause
from contracts.early import TriggerPhase
from contracts.frames import Box, Zone
from contracts.moments import format_timestamp
from contracts.recognitions import Recognition
from contracts.secrets import SecretBox
from contracts.stream_urls import mask_password
from contracts.webhooks import EventName


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of what receivers are told."""


class RecognitionShape(Shape, frozen=True, kw_only=True):
    """A recognition as in lists: images by their storage keys, absent where there is none."""

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


class AlertShape(Shape, frozen=True, kw_only=True):
    """An alert as it was when it fired, without how often it had.

    Whom it notifies is told only where that can be decrypted, as is a camera's address.
    """

    id: UUID
    name: str
    description: str
    enabled: bool
    plate_match_mode: PlateMatchMode
    plates: tuple[str, ...]
    camera_scope: CameraScope
    camera_ids: tuple[UUID, ...]
    schedule_enabled: bool
    schedule: AlertSchedule
    timezone: str
    min_confidence: float
    cooldown_minutes: float
    cooldown_scope: CooldownScope
    match_tolerance: int
    notifications: tuple[Notification, ...] | UnsetType = UNSET
    last_triggered_at: str
    created_at: str


class CameraShape(Shape, frozen=True, kw_only=True):
    """A camera at the moment of the event; the password in its address is masked."""

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
    sample_fps: float | None
    zones: tuple[Zone, ...]
    min_plate_width: int
    timezone: str | None
    created_at: str


class RecognitionData(Shape, frozen=True, kw_only=True):
    """``data`` of recognition.created."""

    recognition: RecognitionShape


class AlertData(Shape, frozen=True, kw_only=True):
    """``data`` of alert.triggered and alert.corrected. ``late``: the vehicle is surely gone.

    ``trigger_id`` is the same in all that is told of one firing. ``phase`` is there where an alert
    fired early, ``provisional`` where it is still to be settled; ``early_plate`` is the plate that
    was told of before.
    """

    alert: AlertShape
    recognition: RecognitionShape
    trigger_id: UUID
    late: bool | UnsetType = UNSET
    phase: TriggerPhase | UnsetType = UNSET
    provisional: bool | UnsetType = UNSET
    early_plate: str | UnsetType = UNSET


class CameraData(Shape, frozen=True, kw_only=True):
    """``data`` of camera.online and camera.offline."""

    camera: CameraShape
    at: str


class Envelope(Shape, frozen=True, kw_only=True):
    """The body of a delivery. ``test`` and ``replay`` are there only where they are true."""

    id: UUID
    event: EventName
    created_at: str
    data: RecognitionData | AlertData | CameraData
    test: bool | UnsetType = UNSET
    replay: bool | UnsetType = UNSET


def body_of(delivery: Delivery, box: SecretBox) -> bytes:
    """Return the body of a delivery, the same on every try.

    Raises:
        MisconfiguredError: something in it was encrypted with another key.
    """
    envelope = Envelope(
        id=delivery.event_id,
        event=delivery.event,
        created_at=format_timestamp(delivery.created_ms),
        data=_data(delivery, box),
        test=delivery.cause is DeliveryCause.TEST or UNSET,
        replay=delivery.cause is DeliveryCause.REPLAY or UNSET,
    )
    return msgspec.json.encode(envelope)


def _data(delivery: Delivery, box: SecretBox) -> RecognitionData | AlertData | CameraData:
    if delivery.trigger is not None:
        return alert_data(delivery.trigger, box)
    if delivery.camera is not None:
        return camera_data(delivery.camera, box)
    assert delivery.recognition is not None, delivery.event
    return RecognitionData(recognition=recognition_shape(delivery.recognition))


def recognition_shape(recognition: Recognition) -> RecognitionShape:
    """Return a recognition as clients know it."""
    return RecognitionShape(
        id=recognition.id,
        user_id=recognition.owner_id,
        camera_id=recognition.camera_id,
        camera_name=recognition.camera_name,
        plate=recognition.plate,
        confidence=recognition.confidence,
        timestamp=format_timestamp(recognition.captured_ms),
        photo_url=recognition.photo_key or UNSET,
        crop_url=recognition.crop_key or UNSET,
        plate_coordinates=recognition.box or UNSET,
    )


def alert_data(trigger: AlertTrigger, box: SecretBox | None) -> AlertData:
    """Return what alert.triggered tells; without a box, all but whom the alert notifies.

    Raises:
        MisconfiguredError: its notifications were encrypted with another key.
    """
    return AlertData(
        alert=_alert_shape(trigger, box),
        recognition=recognition_shape(trigger.recognition),
        trigger_id=trigger.id,
        late=trigger.is_late or UNSET,
        phase=UNSET if trigger.phase is TriggerPhase.FINAL else trigger.phase,
        provisional=trigger.phase is TriggerPhase.EARLY or UNSET,
        early_plate=UNSET if trigger.early is None else trigger.early.plate,
    )


def notifications_of(alert: AlertConfig, box: SecretBox) -> tuple[Notification, ...]:
    """Return an alert's own notifications.

    Raises:
        MisconfiguredError: they were encrypted with another key.
    """
    text = box.decrypt(alert.notifications_encrypted) if alert.notifications_encrypted else "[]"
    return msgspec.json.decode(text, type=tuple[Notification, ...])


def _alert_shape(trigger: AlertTrigger, box: SecretBox | None) -> AlertShape:
    alert = trigger.alert
    return AlertShape(
        id=alert.alert_id,
        name=alert.name,
        description=alert.description,
        enabled=alert.enabled,
        plate_match_mode=alert.plate_match_mode,
        plates=alert.plates,
        camera_scope=alert.camera_scope,
        camera_ids=alert.camera_ids,
        schedule_enabled=alert.schedule_enabled,
        schedule=alert.schedule,
        timezone=alert.timezone,
        min_confidence=alert.min_confidence,
        cooldown_minutes=alert.cooldown_minutes,
        cooldown_scope=alert.cooldown_scope,
        match_tolerance=alert.match_tolerance,
        notifications=UNSET if box is None else notifications_of(alert, box),
        last_triggered_at=format_timestamp(trigger.fired_ms),
        created_at=format_timestamp(alert.created_ms),
    )


def camera_data(event: CameraEvent, box: SecretBox | None) -> CameraData:
    """Return what camera.online and camera.offline tell; without a box, all but the address.

    Raises:
        MisconfiguredError: the camera's address was encrypted with another key.
    """
    camera, status = event.camera, event.status
    return CameraData(
        camera=CameraShape(
            id=camera.camera_id,
            identifier=camera.identifier,
            name=camera.name,
            location=camera.location,
            rtsp_url=_masked_address(camera, box),
            enabled=camera.enabled,
            status=status.state,
            last_seen_at=_timestamp(status.last_seen_ms),
            last_error=status.last_error,
            frame_width=status.frame_width_px,
            frame_height=status.frame_height_px,
            sample_fps=camera.sample_fps,
            zones=camera.zones,
            min_plate_width=camera.min_plate_width_px,
            timezone=camera.timezone,
            created_at=format_timestamp(camera.created_ms),
        ),
        at=format_timestamp(status.at_ms),
    )


def _masked_address(camera: CameraConfig, box: SecretBox | None) -> str | UnsetType:
    if box is None:
        return UNSET
    return mask_password(box.decrypt(camera.stream_url_encrypted))


def _timestamp(unix_ms: int | None) -> str | None:
    return None if unix_ms is None else format_timestamp(unix_ms)
