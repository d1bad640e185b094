"""Builds the responses, outcomes and (on request) recognitions of image calls."""

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Self
from uuid import UUID

import structlog
from msgspec import structs
from pydantic import Field

from api.adapters.image_store import ImageStore
from api.schemas import ResponseModel
from common.errors import TransientError
from common.plates.normalise import MAX_PLATE_LENGTH, normalise_plate
from common.records.ids import NIL_UUID, image_call_id, recognition_id
from common.records.object_keys import uploaded_photo_key
from common.records.recognitions import (
    CharacterOption,
    PassOutcome,
    PlateReading,
    Recognition,
    RecognitionSource,
    alternatives_of,
)
from recognition.workers.protocol import ImageReadings

_DECIMALS = 10

CAMERA_NAME = "API"
_PNG_MAGIC = b"\x89PNG"
log = structlog.get_logger()


class PlateResult(ResponseModel):
    """A plate found in the image. Coordinates are in pixels of the image after EXIF rotation."""

    plate: str = Field(description="Plate, upper case, without separators.", examples=["AB12CDE"])
    conf: float = Field(ge=0, le=100, description="Confidence, 0 to 100.", examples=[97.3])
    char_confs: str = Field(
        examples=["0.9911;0.9856;0.9902;0.9737;0.9967;0.9644"],
        description="Confidence of each character, 0 to 1, separated by `;`.",
    )
    coordinate_left: int = Field(
        ge=0,
        description="Left edge of the plate, in pixels from the left of the image.",
        examples=[412],
    )
    coordinate_top: int = Field(
        ge=0,
        description="Top edge of the plate, in pixels from the top of the image.",
        examples=[652],
    )
    coordinate_right: int = Field(
        ge=0,
        description="Right edge of the plate, in pixels from the left of the image.",
        examples=[540],
    )
    coordinate_bottom: int = Field(
        ge=0,
        description="Bottom edge of the plate, in pixels from the top of the image.",
        examples=[688],
    )
    plate_type: str = Field(
        examples=["car", "two-row"], description="Plate shape: `car`, `two-row` or `motorcycle`."
    )


class DemoAnswer(ResponseModel):
    """Plates found in the image."""

    plates: list[PlateResult] = Field(description="Plates found in the image.")
    processing_time_ms: float = Field(
        ge=0, description="Processing time of the call, in milliseconds.", examples=[48.2]
    )
    image_width: int = Field(
        ge=0, description="Width after EXIF rotation, in pixels.", examples=[1920]
    )
    image_height: int = Field(
        ge=0, description="Height after EXIF rotation, in pixels.", examples=[1080]
    )


class RecognizeAnswer(DemoAnswer):
    """Plates found in the image, and the credits remaining."""

    credits_remaining: int = Field(ge=0, description="Credits remaining.", examples=[9999])


def demo_answer(readings: ImageReadings, started: float) -> DemoAnswer:
    """Return the response to a call that started at ``started`` (seconds of ``perf_counter``)."""
    return DemoAnswer(
        plates=plate_results(readings),
        processing_time_ms=processing_time_ms(started),
        image_width=readings.width_px,
        image_height=readings.height_px,
    )


def processing_time_ms(started: float) -> float:
    """Return the time since ``started`` (seconds of ``perf_counter``), in milliseconds."""
    return round((time.perf_counter() - started) * 1000, 1)


def plate_results(readings: ImageReadings) -> list[PlateResult]:
    """Return the plates of an image in the form of the response."""
    return [
        _plate_result(reading, readings.width_px, readings.height_px)
        for reading in readings.readings
    ]


def _plate_result(reading: PlateReading, width_px: int, height_px: int) -> PlateResult:
    box = reading.box
    return PlateResult(
        plate=reading.text,
        # The value is rounded so that 0.87 gives 87 and not 86.999999999.
        conf=round(100 * reading.confidence, _DECIMALS),
        char_confs=";".join(f"{_best(options):.4f}" for options in reading.positions),
        coordinate_left=_within(box.x, width_px),
        coordinate_top=_within(box.y, height_px),
        coordinate_right=_within(box.x + box.width, width_px),
        coordinate_bottom=_within(box.y + box.height, height_px),
        plate_type=reading.plate_type,
    )


def _best(options: tuple[CharacterOption, ...]) -> float:
    return options[0].probability if options else 0.0


def _within(edge: float, limit: int) -> int:
    return min(max(round(edge), 0), limit)


@dataclass(frozen=True)
class StoredCall:
    """The recognitions of a call, and the key of the photo that the recognitions share."""

    recognitions: tuple[Recognition, ...]
    photo_key: str
    content_type: str

    def without_photo(self) -> Self:
        """Return a copy without the photo, which could not be stored."""
        changed = tuple(structs.replace(each, photo_key=None) for each in self.recognitions)
        return replace(self, recognitions=changed)


def stored_call(
    owner_id: UUID, call_id: UUID, image: bytes, readings: ImageReadings, captured_ms: int
) -> StoredCall | None:
    """Return the data to store for a call, or None if there is no storable plate.

    All IDs are derived from ``call_id`` and ``captured_ms`` (Unix ms, UTC).
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
    """Return the record that counts a call, whether or not its plates are stored."""
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
        alternatives=alternatives_of(
            normalise_plate(reading.text),
            ([(each.character, each.probability) for each in one] for one in reading.positions),
        ),
        captured_ms=captured_ms,
        first_seen_ms=captured_ms,
        last_seen_ms=captured_ms,
        readings_count=1,
        box=reading.box,
        photo_key=photo,
        region=reading.region,
        region_confidence=reading.region_confidence,
        plate_type=reading.plate_type,
        source=RecognitionSource.API,
    )


def _is_storable(reading: PlateReading) -> bool:
    return 0 < len(normalise_plate(reading.text)) <= MAX_PLATE_LENGTH


class CallPhoto:
    """The photo of a call, if any. If ``may_be_named``, records can refer to the photo.

    The key is unique to the call, even if an expired call had the same Idempotency-Key.
    """

    def __init__(self, images: ImageStore) -> None:
        self._images = images
        self._key: str | None = None
        self._putting: asyncio.Future[None] | None = None
        self.may_be_named = False

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        """Store the photo. The upload continues if the caller is cancelled.

        Raises:
            TransientError: the store is not responding; the photo may have been stored.
        """
        self._key = key
        self._putting = asyncio.ensure_future(self._images.put(key, data, content_type))
        await asyncio.shield(self._putting)

    async def remove(self) -> None:
        """Delete the photo, if any. The caller ensures that no record will refer to the photo."""
        if self._key is None or self._putting is None:
            return
        # A running upload could finish after the deletion.
        await asyncio.gather(self._putting, return_exceptions=True)
        try:
            refused = await self._images.remove([self._key])
        except TransientError as error:
            log.warning("photo_delete_failed", key=self._key, error=str(error))
        else:
            if refused:
                log.warning("photo_delete_failed", key=self._key, error="S3 rejected the request")
