"""Recognitions as rows: to the table's columns and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from contracts.errors import InvalidInputError
from contracts.frames import Box
from contracts.ids import may_be_captured
from contracts.object_keys import crop_key, photo_key
from contracts.plates import normalise_plate
from contracts.recognitions import Recognition, RecognitionSource

LAST_STORABLE_MS = 4_102_444_800_000
"""2100-01-01 UTC: the table holds times before it (Unix ms)."""

COLUMN_TYPES = {
    "user_id": "UUID",
    "id": "UUID",
    "ts": "DateTime64(3, 'UTC')",
    "camera_id": "UUID",
    "camera_name": "LowCardinality(String)",
    "plate": "String",
    "confidence": "Float64",
    "character_confidences": "Array(Float64)",
    "region": "LowCardinality(String)",
    "plate_type": "LowCardinality(String)",
    "source": "LowCardinality(String)",
    "first_seen": "DateTime64(3, 'UTC')",
    "last_seen": "DateTime64(3, 'UTC')",
    "readings_count": "UInt32",
    "photo_key": "String",
    "crop_key": "String",
    "box_x": "Float64",
    "box_y": "Float64",
    "box_width": "Float64",
    "box_height": "Float64",
}
"""Name and type of each column that is written, in the order of :func:`column_values`."""

# Stands for the key that is derived from user and id.
_DERIVED = "="
_NO_BOX = Box(x=0.0, y=0.0, width=0.0, height=0.0)
_LISTED_VALUES = 13


@dataclass(frozen=True, kw_only=True)
class ListedRecognition:
    """What a list shows of a recognition.

    ``captured_ms`` is Unix ms, UTC; ``confidence`` 0..1; ``box`` in pixels of the frame; ``plate``
    normalised. A key is None where there is no image.
    """

    id: UUID
    user_id: UUID
    camera_id: UUID
    camera_name: str
    plate: str
    confidence: float
    captured_ms: int
    box: Box | None = None
    photo_key: str | None = None
    crop_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class RecognitionRow(ListedRecognition):
    """One recognition as stored, in full. Times are Unix ms, UTC; confidences 0..1."""

    character_confidences: tuple[float, ...]
    first_seen_ms: int
    last_seen_ms: int
    readings_count: int
    region: str | None = None
    plate_type: str = "car"
    source: RecognitionSource = RecognitionSource.CAMERA


def recognition_row(record: Recognition) -> RecognitionRow:
    """Return the row for a record of the recognitions topic.

    Raises:
        InvalidInputError: a time that the table cannot hold, or an id of another time.
    """
    if not 0 <= record.captured_ms < LAST_STORABLE_MS:
        raise InvalidInputError(f"captured_ms {record.captured_ms}", code="time_out_of_range")
    if not may_be_captured(record.id, record.captured_ms):
        raise InvalidInputError("the id is of another time", code="id_of_other_time")
    return RecognitionRow(
        id=record.id,
        user_id=record.owner_id,
        camera_id=record.camera_id,
        camera_name=record.camera_name,
        plate=normalise_plate(record.plate),
        confidence=record.confidence,
        character_confidences=record.character_confidences,
        captured_ms=record.captured_ms,
        first_seen_ms=record.first_seen_ms,
        last_seen_ms=record.last_seen_ms,
        readings_count=record.readings_count,
        box=record.box,
        photo_key=record.photo_key,
        crop_key=record.crop_key,
        region=record.region,
        plate_type=record.plate_type,
        source=record.source,
    )


def column_values(row: RecognitionRow) -> tuple[object, ...]:
    """Return what goes into each of :data:`COLUMN_TYPES`."""
    box = row.box or _NO_BOX
    return (
        row.user_id,
        row.id,
        row.captured_ms,
        row.camera_id,
        row.camera_name,
        row.plate,
        row.confidence,
        row.character_confidences,
        row.region or "",
        row.plate_type,
        row.source.value,
        row.first_seen_ms,
        row.last_seen_ms,
        row.readings_count,
        stored_key(row.photo_key, photo_key(row.user_id, row.id)),
        stored_key(row.crop_key, crop_key(row.user_id, row.id)),
        box.x,
        box.y,
        box.width,
        box.height,
    )


def stored_key(key: str | None, derived: str) -> str:
    """Return a key of S3 as tables hold it: '=' for the derived one, '' for none."""
    return _DERIVED if key == derived else key or ""


def read_key(stored: str, derived: str) -> str | None:
    """Return the key that a table holds so (see :func:`stored_key`)."""
    return derived if stored == _DERIVED else stored or None


def listed_recognition(values: Sequence[Any]) -> ListedRecognition:
    """Return what a row of ``recognitions_page.sql`` says."""
    return ListedRecognition(**_listed(values))


def full_recognition(values: Sequence[Any]) -> RecognitionRow:
    """Return what a row of ``recognition_by_id.sql`` says."""
    character_confidences, first_seen_ms, last_seen_ms, readings_count, *texts = values[
        _LISTED_VALUES:
    ]
    region, plate_type, source = texts
    return RecognitionRow(
        **_listed(values[:_LISTED_VALUES]),
        character_confidences=tuple(character_confidences),
        first_seen_ms=first_seen_ms,
        last_seen_ms=last_seen_ms,
        readings_count=readings_count,
        region=region or None,
        plate_type=plate_type,
        source=RecognitionSource(source),
    )


def _listed(values: Sequence[Any]) -> dict[str, Any]:
    *head, x, y, width, height, photo, crop = values
    identifier, user_id, camera_id, camera_name, plate, confidence, captured_ms = head
    return {
        "id": identifier,
        "user_id": user_id,
        "camera_id": camera_id,
        "camera_name": camera_name,
        "plate": plate,
        "confidence": confidence,
        "captured_ms": captured_ms,
        "box": Box(x=x, y=y, width=width, height=height) if width else None,
        "photo_key": read_key(photo, photo_key(user_id, identifier)),
        "crop_key": read_key(crop, crop_key(user_id, identifier)),
    }
