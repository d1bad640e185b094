"""JSON of the recognitions resource, and its query parameters."""

from pydantic import Field

from analytics_sql.recognitions import ListedRecognition
from api.schemas import ResponseModel, is_absent
from contracts.frames import Box
from contracts.moments import format_timestamp

DEFAULT_LIMIT = 50
MAX_LIMIT = 200


class PlateCoordinates(ResponseModel):
    """A box in pixels of the full frame; ``x``, ``y`` is the top left."""

    x: float
    y: float
    width: float
    height: float


class RecognitionBody(ResponseModel):
    """One pass of one vehicle."""

    id: str = Field(json_schema_extra={"format": "uuid"})
    user_id: str = Field(json_schema_extra={"format": "uuid"})
    camera_id: str = Field(json_schema_extra={"format": "uuid"})
    camera_name: str
    plate: str
    confidence: float = Field(ge=0, le=1)
    timestamp: str = Field(json_schema_extra={"format": "date-time"})
    photo_url: str | None = Field(default=None, exclude_if=is_absent)
    crop_url: str | None = Field(default=None, exclude_if=is_absent)
    plate_coordinates: PlateCoordinates | None = Field(default=None, exclude_if=is_absent)


class RecognitionList(ResponseModel):
    """A page, newest first. ``nextKey`` is null on the last one."""

    recognitions: list[RecognitionBody]
    next_key: str | None


class RecognitionAnswer(ResponseModel):
    """One recognition, with links to its images that are valid for an hour."""

    recognition: RecognitionBody


def recognition_body(
    recognition: ListedRecognition, *, photo_url: str | None, crop_url: str | None
) -> RecognitionBody:
    """Return the JSON form of a recognition."""
    return RecognitionBody(
        id=str(recognition.id),
        user_id=str(recognition.user_id),
        camera_id=str(recognition.camera_id),
        camera_name=recognition.camera_name,
        plate=recognition.plate,
        confidence=recognition.confidence,
        timestamp=format_timestamp(recognition.captured_ms),
        photo_url=photo_url,
        crop_url=crop_url,
        plate_coordinates=_coordinates(recognition.box),
    )


def _coordinates(box: Box | None) -> PlateCoordinates | None:
    if box is None:
        return None
    return PlateCoordinates(x=box.x, y=box.y, width=box.width, height=box.height)
