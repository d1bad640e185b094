"""Sample records for tests."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID, uuid4

from aiokafka.partitioner import DefaultPartitioner

from common.records.alerts import (
    AlertConfig,
    AlertSchedule,
    AlertTrigger,
    CameraScope,
    CooldownScope,
    PlateMatchMode,
)
from common.records.codec import encode
from common.records.frames import Box
from common.records.ids import recognition_id, trigger_id
from common.records.recognitions import Recognition

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
