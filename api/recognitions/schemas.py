"""Query parameters and response bodies for recognitions."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

import msgspec
from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from analytics_sql.recognitions import RecognitionFilter, RecognitionRow
from api.paging.lists import NextKey
from api.recognitions.repository import Correction
from api.recognitions.service import Page
from api.schemas import QueryModel, ResponseModel, Timestamp, is_absent
from api.validation.fields import QueryInstant, number, uuid_text, whole_number
from common.errors import InvalidInputError
from common.plates.edit_distance import ANY_CHARACTER, ANY_TEXT
from common.plates.matching import MatchMode, has_wildcard, plate_matcher
from common.plates.normalise import typed_plate
from common.records.payloads import RecognitionPayload, recognition_fields
from common.records.recognitions import Direction, RecognitionSource

DEFAULT_LIMIT = 50
MAX_LIMIT = 200

_MATCH = """How to compare plates with `plate`. Case, spaces, dots, dashes and accents are ignored.

- `substring`: the plate contains the text.
- `exact`: the plate is equal to the text.
- `prefix`: the plate starts with the text.
- `wildcard`: the plate matches the pattern; `*` matches any number of characters, `?` exactly one.
- `fuzzy`: the plate differs by at most one character; `0OQD`, `1IL`, `2Z`, `5S`, `6G` and `8B`
  count as equal.

All modes except `substring` require a `plate` of 1 to 16 characters."""

_MAX_PLATE_QUERY_CHARACTERS = 256


Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), BeforeValidator(number)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), BeforeValidator(whole_number)]
"""Maximum number of rows on a page."""


class PlateQuery(QueryModel):
    """Filters of recognitions. Errors of all invalid parameters are reported together."""

    # This field must precede plate, because plate's validator reads match.
    match: MatchMode = Field(default=MatchMode.SUBSTRING, description=_MATCH)
    plate: Annotated[str, Field(max_length=_MAX_PLATE_QUERY_CHARACTERS)] | None = Field(
        default=None,
        validate_default=True,
        description="Plate, part or pattern to search for, according to `match`. Case, "
        "spaces, dots and dashes are ignored, and letters are converted to A to Z (for example, "
        "Ä to A). If a character cannot be converted, the error contains its position.",
        examples=["AB12"],
    )
    camera_id: Annotated[UUID, BeforeValidator(uuid_text)] | None = Field(
        default=None, alias="cameraId", description="Only recognitions of this camera."
    )
    min_confidence: Confidence = Field(
        default=0.0, alias="minConfidence", description="Minimum confidence, inclusive."
    )

    @field_validator("plate")
    @classmethod
    def _searchable(cls, plate: str | None, info: ValidationInfo) -> str | None:
        match = info.data.get("match", MatchMode.SUBSTRING)
        return searched_plate(plate, match)


class RecognitionQuery(PlateQuery):
    """Query parameters that lists and exports share."""

    from_ms: QueryInstant | None = Field(default=None, alias="from", description="Inclusive start.")
    to_ms: QueryInstant | None = Field(default=None, alias="to", description="Exclusive end.")
    limit: Limit = Field(default=DEFAULT_LIMIT, description="Maximum number of rows to return.")
    last_key: str | None = Field(
        default=None,
        alias="lastKey",
        description="`nextKey` of the previous page, with the same filters.",
    )

    def wanted(self, owner_id: UUID) -> RecognitionFilter:
        """Return the filter for an account's recognitions."""
        return RecognitionFilter(
            user_id=owner_id,
            plate=self.plate,
            camera_id=self.camera_id,
            from_ms=self.from_ms,
            to_ms=self.to_ms,
            min_confidence=self.min_confidence,
            match=self.match,
        )


class RecognitionListQuery(RecognitionQuery):
    """Query parameters of the list, including parameters that exports do not have."""

    corrected: bool = Field(
        default=False,
        description="Also include recognitions whose `correction` matches `plate`.",
    )


def searched_plate(plate: str | None, match: MatchMode) -> str | None:
    """Return the normalised text to search for, or None for any plate.

    Raises:
        ValueError: ``plate`` is not valid with ``match``.
    """
    try:
        if match is MatchMode.SUBSTRING:
            # For compatibility, a blank plate matches any plate.
            return typed_plate(plate or "") or None
        if plate is None:
            raise ValueError(f"is required with match={match}")
        if match is MatchMode.FUZZY and has_wildcard(plate):
            raise ValueError("must not contain * or ? with match=fuzzy")
        typed_plate(plate, wildcards=match is MatchMode.WILDCARD)
        text = plate_matcher(plate, match).text
    except InvalidInputError as error:
        raise ValueError(str(error)) from error
    if match is MatchMode.WILDCARD and not text.strip(ANY_TEXT + ANY_CHARACTER):
        raise ValueError("must contain a letter or digit with match=wildcard")
    return text


class PlateCoordinates(ResponseModel):
    """Bounding box in pixels of the full frame. `x` and `y` are the top-left corner."""

    x: float = Field(description="Left edge, in pixels.", examples=[812.0], ge=0)
    y: float = Field(description="Top edge, in pixels.", examples=[604.0], ge=0)
    width: float = Field(description="Width, in pixels.", examples=[96.0], ge=0)
    height: float = Field(description="Height, in pixels.", examples=[24.0], ge=0)


class PlateRegion(ResponseModel):
    """Country of the plate."""

    code: str = Field(
        description="ISO 3166-1 alpha-2 country code. Third-party models may return their "
        "own region names.",
        examples=["PT"],
    )
    confidence: float | None = Field(
        default=None,
        ge=0,
        le=1,
        exclude_if=is_absent,
        description="Confidence of the country, 0 to 1. Omitted if the country follows from "
        "the plate format.",
        examples=[0.93],
    )


class CorrectionBody(ResponseModel):
    """A manual correction of the plate."""

    plate: str | None = Field(
        description="Corrected plate, upper case, without separators; null: there is no plate.",
        examples=["AB12CDE"],
    )
    region: str | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Country or region of the plate. Omitted if not given.",
        examples=["PT"],
    )
    corrected_by: str = Field(
        description="Email address of the person, or name of the API key, that made the "
        "correction.",
        examples=["gate@example.org"],
    )
    corrected_at: Timestamp = Field(description="Time of the correction (UTC).")


class CharacterAlternativeBody(ResponseModel):
    """A character that may be correct instead."""

    position: int = Field(ge=0, description="Position in the plate, starting at 0.", examples=[3])
    character: str = Field(description="Alternative letter or digit.", examples=["D"])
    confidence: float = Field(ge=0, le=1, description="Confidence, 0 to 1.", examples=[0.12])


class RecognitionBody(ResponseModel):
    """One pass of a vehicle, or one plate of a stored image call."""

    id: str = Field(json_schema_extra={"format": "uuid"}, description="ID of the recognition.")
    user_id: str = Field(json_schema_extra={"format": "uuid"}, description="ID of the account.")
    camera_id: str = Field(
        json_schema_extra={"format": "uuid"},
        description="ID of the camera; the nil UUID for an image call.",
    )
    camera_name: str = Field(
        description="Name of the camera when the plate was captured; `API` for an image call.",
        examples=["Gate north"],
    )
    plate: str = Field(description="Plate, upper case, without separators.", examples=["AB12CDE"])
    confidence: float = Field(
        ge=0,
        le=1,
        description="Confidence of the plate, 0 to 1: the mean of the character confidences.",
        examples=[0.97],
    )
    timestamp: str = Field(
        json_schema_extra={"format": "date-time"},
        description="Capture time of the best reading (UTC).",
        examples=["2026-11-21T16:32:52.301Z"],
    )
    photo_url: str | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Full frame: a storage key in lists and events, a presigned URL valid "
        'for one hour in "Get a recognition". Omitted if there is no image.',
        examples=["owner/2026/11/21/photo.jpg"],
    )
    crop_url: str | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Plate crop, in the same form as `photoUrl`.",
        examples=["owner/2026/11/21/crop.jpg"],
    )
    plate_coordinates: PlateCoordinates | None = Field(
        default=None, exclude_if=is_absent, description="Position of the plate in the frame."
    )
    region: PlateRegion | None = Field(
        default=None, exclude_if=is_absent, description="Country of the plate. Omitted if unknown."
    )
    plate_type: str | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Plate shape: `car`, `two-row` or `motorcycle`.",
        examples=["car"],
    )
    character_confidences: list[float] | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Confidence of each character, 0 to 1.",
        examples=[[0.99, 0.98, 0.97, 0.99, 0.95, 0.96, 0.95]],
    )
    character_alternatives: list[CharacterAlternativeBody] | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Alternative characters, most likely first. Not included in lists.",
    )
    first_seen_at: str | None = Field(
        default=None,
        exclude_if=is_absent,
        json_schema_extra={"format": "date-time"},
        description="Time of the first frame of the pass (UTC).",
    )
    last_seen_at: str | None = Field(
        default=None,
        exclude_if=is_absent,
        json_schema_extra={"format": "date-time"},
        description="Time of the last frame of the pass (UTC).",
    )
    readings_count: int | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Number of frames of the pass in which the plate was read.",
        examples=[9],
        ge=0,
    )
    source: RecognitionSource | None = Field(
        default=None,
        exclude_if=is_absent,
        description="`camera`, or `api` for a stored image call.",
    )
    direction: Direction | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Direction of travel as seen by the camera. Omitted if unclear.",
    )
    correction: CorrectionBody | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Manual correction of the plate. The original reading is unchanged.",
    )


class RecognitionList(ResponseModel):
    """A page of recognitions, newest first. `nextKey` is null on the last page."""

    recognitions: list[RecognitionBody] = Field(description="Up to `limit` items, newest first.")
    next_key: NextKey


class RecognitionAnswer(ResponseModel):
    """One recognition, with image URLs valid for one hour."""

    recognition: RecognitionBody = Field(description="The recognition.")


class _CorrectedPayload(RecognitionPayload, frozen=True, kw_only=True):
    """The JSON form of a corrected recognition."""

    correction: dict[str, object]


_NONE_CORRECTED: Mapping[UUID, Correction] = {}


def page_json(page: Page, corrections: Mapping[UUID, Correction] = _NONE_CORRECTED) -> bytes:
    """Return the body of a :class:`RecognitionList` response, with images as storage keys.

    Rows (up to 200) are encoded without models: models took a third of the CPU time.
    """
    rows = [
        _payload(
            found, corrections.get(found.id), photo_url=found.photo_key, crop_url=found.crop_key
        )
        for found in page.recognitions
    ]
    return msgspec.json.encode({"recognitions": rows, "nextKey": page.next_key})


def recognition_body(
    recognition: RecognitionRow,
    correction: Correction | None = None,
    *,
    photo_url: str | None,
    crop_url: str | None,
) -> RecognitionBody:
    """Return the JSON form of a recognition."""
    payload = _payload(recognition, correction, photo_url=photo_url, crop_url=crop_url)
    return RecognitionBody.model_validate(msgspec.to_builtins(payload))


def correction_body(found: Correction) -> CorrectionBody:
    """Return the JSON form of a correction."""
    return CorrectionBody(
        plate=found.plate,
        region=found.region,
        corrected_by=found.corrected_by,
        corrected_at=found.corrected_at,
    )


def _payload(
    found: RecognitionRow,
    correction: Correction | None,
    *,
    photo_url: str | None,
    crop_url: str | None,
) -> RecognitionPayload:
    payload = recognition_fields(
        found, user_id=found.user_id, photo_url=photo_url, crop_url=crop_url
    )
    if correction is None:
        return payload
    written = correction_body(correction).model_dump(mode="json")
    return _CorrectedPayload(**msgspec.structs.asdict(payload), correction=written)
