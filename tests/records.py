"""Sample records for tests."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID, uuid4

import msgspec
from aiokafka.partitioner import DefaultPartitioner

from analytics_sql.recognitions import RecognitionRow
from common.records.alerts import (
    AlertConfig,
    AlertSchedule,
    AlertTrigger,
    CameraScope,
    CooldownScope,
    PlateMatchMode,
)
from common.records.codec import encode
from common.records.deliveries import AttemptOutcome, Delivery, DeliveryAttempt
from common.records.frames import Box
from common.records.ids import NIL_UUID, image_call_id, recognition_id, trigger_id
from common.records.object_keys import crop_key, photo_key
from common.records.recognitions import PassOutcome, Recognition, RecognitionSource

OWNER = UUID("0197a000-0000-7000-8000-000000000001")
CAMERAS = tuple(UUID(int=OWNER.int + number) for number in range(1, 9))


def recognition(number: int, *, captured_ms: int | None = None) -> Recognition:
    """Return a sample recognition. Equal arguments give an equal recognition, including its ID."""
    captured_ms = captured_ms if captured_ms is not None else 1_795_000_000_000 + number
    camera = CAMERAS[number % len(CAMERAS)]
    return Recognition(
        id=recognition_id(captured_ms, camera, str(number)),
        owner_id=OWNER,
        camera_id=camera,
        camera_name=f"camera {number % len(CAMERAS)}",
        plate=f"AB{number:05}",
        confidence=0.93,
        character_confidences=(0.9,) * 7,
        captured_ms=captured_ms,
        first_seen_ms=captured_ms - 400,
        last_seen_ms=captured_ms + 400,
        readings_count=5,
        box=Box(x=1.5, y=2.5, width=100.0, height=30.0),
        photo_key=f"recognitions/{number}/photo.jpg",
        crop_key=f"recognitions/{number}/crop.jpg",
    )


def plain_row(
    user_id: UUID,
    at_ms: int,
    plate: str = "AB12CD",
    camera_id: UUID = CAMERAS[0],
    **changes: Any,
) -> RecognitionRow:
    """Return the row of a recognition. ``changes`` replace its fields."""
    fields: dict[str, Any] = {
        "id": recognition_id(at_ms, camera_id, plate),
        "camera_name": "Gate",
        "confidence": 0.9,
        "character_confidences": (),
        "first_seen_ms": at_ms,
        "last_seen_ms": at_ms,
        "readings_count": 3,
    }
    return RecognitionRow(
        user_id=user_id, captured_ms=at_ms, plate=plate, camera_id=camera_id, **fields | changes
    )


def recognitions(numbers: Iterable[int]) -> list[Recognition]:
    """Return a sample recognition for each number."""
    return [recognition(number) for number in numbers]


def messages(records: Iterable[Recognition]) -> list[tuple[bytes, bytes]]:
    """Return the key and the value of each record, as on a topic."""
    return [(record.camera_id.bytes, encode(record)) for record in records]


def alert(number: int, **changed: Any) -> AlertConfig:
    """Return a sample alert that matches any plate. ``changed`` replaces fields of the record."""
    fields: dict[str, Any] = {
        "alert_id": UUID(int=(0xA1E7 << 96) + number),
        "owner_id": OWNER,
        "name": f"alert {number}",
        "description": "",
        "enabled": True,
        "plate_match_mode": PlateMatchMode.ANY,
        "plates": (),
        "camera_scope": CameraScope.ALL,
        "camera_ids": (),
        "schedule_enabled": False,
        "schedule": AlertSchedule(),
        "timezone": "UTC",
        "min_confidence": 0.5,
        "cooldown_minutes": 5,
        "cooldown_scope": CooldownScope.ALERT,
        "match_tolerance": 0,
        "notifications_encrypted": "",
        "notification_secret_encrypted": "",
        "revision": 1,
        "created_ms": 1_790_000_000_000,
    }
    return AlertConfig(**(fields | changed))


def alert_trigger(rule: AlertConfig, seen: Recognition, **changed: Any) -> AlertTrigger:
    """Return the trigger of an alert. ``changed`` replaces fields of the record."""
    fields: dict[str, Any] = {
        "id": trigger_id(seen.captured_ms, rule.alert_id, seen.id),
        "owner_id": rule.owner_id,
        "alert": rule,
        "recognition": seen,
        "decided_ms": seen.captured_ms,
    }
    return AlertTrigger(**(fields | changed))


def camera_id_on(partition: int, partitions: Sequence[int]) -> UUID:
    """Return the ID of a new camera whose records are on a given partition."""
    partition_of = DefaultPartitioner()
    while partition_of(str(found := uuid4()).encode(), list(partitions), []) != partition:
        pass
    return found


def owned_recognition(
    owner_id: UUID, captured_ms: int, plate: str, camera: int = 0, **changed: Any
) -> Recognition:
    """Return a recognition with images under their derived keys."""
    identifier = recognition_id(captured_ms, CAMERAS[camera], f"{plate} {owner_id}")
    fields: dict[str, Any] = {
        "id": identifier,
        "owner_id": owner_id,
        "plate": plate,
        "photo_key": photo_key(owner_id, identifier),
        "crop_key": crop_key(owner_id, identifier),
    }
    return msgspec.structs.replace(recognition(camera, captured_ms=captured_ms), **fields | changed)


def image_call_outcome(at_ms: int, owner_id: UUID = OWNER) -> PassOutcome:
    """Return the outcome of an accepted image call."""
    return PassOutcome(
        id=image_call_id(at_ms, owner_id),
        owner_id=owner_id,
        camera_id=NIL_UUID,
        source=RecognitionSource.API,
        at_ms=at_ms,
        accepted=True,
    )


def dead_attempt(delivery: Delivery) -> DeliveryAttempt:
    """Return a failed first and last attempt of a delivery."""
    return DeliveryAttempt(
        id=delivery.id,
        delivery=delivery,
        number=1,
        started_ms=delivery.occurred_ms,
        duration_ms=1,
        outcome=AttemptOutcome.DEAD,
    )
