"""What an image call leaves behind: its outcome, and on request recognitions and their photo."""

from dataclasses import dataclass
from uuid import UUID

from contracts.ids import NIL_UUID, image_call_id, recognition_id
from contracts.object_keys import uploaded_photo_key
from contracts.plates import MAX_PLATE_LENGTH, normalise_plate
from contracts.readings import PlateReading
from contracts.recognitions import PassOutcome, Recognition, RecognitionSource
from recognition.pool import ImageReadings

CAMERA_NAME = "API"
_PNG_MAGIC = b"\x89PNG"


@dataclass(frozen=True)
class StoredCall:
    """The recognitions of one call, and where its one photo is kept for all of them."""

    recognitions: tuple[Recognition, ...]
    photo_key: str
    content_type: str


def stored_call(
    owner_id: UUID, call_id: UUID, image: bytes, readings: ImageReadings, captured_ms: int
) -> StoredCall | None:
    """Return what is kept of a call; None where no plate was found.

    ``call_id`` names the call: all ids are derived from it and ``captured_ms`` (Unix ms, UTC).
    """
    found = [reading for reading in readings.readings if _is_storable(reading)]
    if not found:
        return None
    ids = [
        recognition_id(captured_ms, NIL_UUID, f"image call {call_id} {number}")
        for number in range(len(found))
    ]
    is_png = image.startswith(_PNG_MAGIC)
    photo = uploaded_photo_key(owner_id, ids[0], "png" if is_png else "jpg")
    recognitions = tuple(
        _recognition(owner_id, identifier, reading, captured_ms, photo)
        for identifier, reading in zip(ids, found, strict=True)
    )
    return StoredCall(recognitions, photo, "image/png" if is_png else "image/jpeg")


def outcome_of(owner_id: UUID, call_id: UUID, readings: ImageReadings, at_ms: int) -> PassOutcome:
    """Return what is counted of a call, whether anything of it is kept or not."""
    return PassOutcome(
        id=image_call_id(at_ms, call_id),
        owner_id=owner_id,
        camera_id=NIL_UUID,
        source=RecognitionSource.API,
        at_ms=at_ms,
        accepted=bool(readings.readings),
    )


def _recognition(
    owner_id: UUID, identifier: UUID, reading: PlateReading, captured_ms: int, photo: str
) -> Recognition:
    return Recognition(
        id=identifier,
        owner_id=owner_id,
        camera_id=NIL_UUID,
        camera_name=CAMERA_NAME,
        plate=normalise_plate(reading.text),
        confidence=reading.confidence,
        character_confidences=tuple(
            options[0].probability if options else 0.0 for options in reading.positions
        ),
        captured_ms=captured_ms,
        first_seen_ms=captured_ms,
        last_seen_ms=captured_ms,
        readings_count=1,
        box=reading.box,
        photo_key=photo,
        region=reading.region,
        plate_type=reading.plate_type,
        source=RecognitionSource.API,
    )


def _is_storable(reading: PlateReading) -> bool:
    return 0 < len(normalise_plate(reading.text)) <= MAX_PLATE_LENGTH
