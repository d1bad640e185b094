"""JSON of the recognitions resource, and its query parameters."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

import msgspec
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from analytics_sql.recognitions import RecognitionFilter, RecognitionRow
from api.recognitions.repository import Correction
from api.recognitions.service import Page
from api.schemas import ResponseModel, Timestamp, is_absent
from api.validation.fields import QueryInstant, number, uuid_text, whole_number
from common.errors import InvalidInputError
from common.plates.edit_distance import ANY_CHARACTER, ANY_TEXT
from common.plates.matching import MatchMode, has_wildcard, plate_matcher
from common.plates.normalise import typed_plate
from common.records.payloads import RecognitionPayload, recognition_fields
from common.records.recognitions import Direction, RecognitionSource

DEFAULT_LIMIT = 50
MAX_LIMIT = 200

_MATCH = """The comparison with `plate`, both without case, spaces, dots, dashes and accents:

- `substring`: the plate holds it.
- `exact`: the plate is it.
- `prefix`: the plate begins with it.
- `wildcard`: the whole plate fits it; `*` stands for any characters or none, `?` for one.
- `fuzzy`: the whole plate is it, give or take one character, where `0OQD`, `1IL`, `2Z`, `5S`, `6G`
  and `8B` count as the same.

All but `substring` need a `plate` of 1 to 16 characters."""

_MAX_PLATE_QUERY_CHARACTERS = 256


Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), BeforeValidator(number)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), BeforeValidator(whole_number)]
"""Rows of a page."""


class PlateQuery(BaseModel):
    """Conditions on recognitions; a wrong parameter does not hide what is wrong in others."""

    model_config = ConfigDict(frozen=True)

    # Before plate, which is checked with it.
    match: MatchMode = Field(default=MatchMode.SUBSTRING, description=_MATCH)
    plate: Annotated[str, Field(max_length=_MAX_PLATE_QUERY_CHARACTERS)] | None = Field(
        default=None,
        validate_default=True,
        description="The plate, or the part or pattern that `match` asks for. Case, spaces, dots"
        " and dashes do not matter, and letters fold to what cameras read (Ä is A). A character"
        " that cannot be folded is 400 with its position.",
        examples=["AB12"],
    )
    camera_id: Annotated[UUID, BeforeValidator(uuid_text)] | None = Field(
        default=None, alias="cameraId", description="Only this camera."
    )
    min_confidence: Confidence = Field(
        default=0.0, alias="minConfidence", description="Not less sure than this (inclusive)."
    )

    @field_validator("plate")
    @classmethod
    def _searchable(cls, plate: str | None, info: ValidationInfo) -> str | None:
        match = info.data.get("match", MatchMode.SUBSTRING)
        return searched_plate(plate, match)


class RecognitionQuery(PlateQuery):
    """The query parameters of the list."""

    from_ms: QueryInstant | None = Field(
        default=None, alias="from", description="Not before this moment (inclusive)."
    )
    to_ms: QueryInstant | None = Field(
        default=None, alias="to", description="Before this moment (exclusive)."
    )
    limit: Limit = Field(default=DEFAULT_LIMIT, description="Most rows of the page.")
    last_key: str | None = Field(
        default=None,
        alias="lastKey",
        description="nextKey of the page before, with the same filters.",
    )

    def wanted(self, owner_id: UUID) -> RecognitionFilter:
        """Return what is asked of an owner's recognitions."""
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
    """The query parameters of the list, with what does not hold for a file."""

    corrected: bool = Field(
        default=False,
        description="With those, too, whose `correction` is the plate, whatever was read.",
    )


def searched_plate(plate: str | None, match: MatchMode) -> str | None:
    """Return the text to search for, normalised; None for no such condition.

    Raises:
        ValueError: a text that makes no sense with ``match``.
    """
    try:
        if match is MatchMode.SUBSTRING:
            # Blank has always been no condition here.
            return typed_plate(plate or "") or None
        if plate is None:
            raise ValueError(f"is required with match={match}")
        if match is MatchMode.FUZZY and has_wildcard(plate):
            raise ValueError("may not hold * or ? with match=fuzzy")
        typed_plate(plate, wildcards=match is MatchMode.WILDCARD)
        text = plate_matcher(plate, match).text
    except InvalidInputError as error:
        raise ValueError(str(error)) from error
    if match is MatchMode.WILDCARD and not text.strip(ANY_TEXT + ANY_CHARACTER):
        raise ValueError("must hold more than wildcards with match=wildcard")
    return text


class PlateCoordinates(ResponseModel):
    """A box in pixels of the full frame; ``x``, ``y`` is the top left."""

    x: float = Field(description="Left edge, in pixels.", examples=[812.0], ge=0)
    y: float = Field(description="Upper edge, in pixels.", examples=[604.0], ge=0)
    width: float = Field(description="Width, in pixels.", examples=[96.0], ge=0)
    height: float = Field(description="Height, in pixels.", examples=[24.0], ge=0)


class PlateRegion(ResponseModel):
    """The country of a plate."""

    code: str = Field(
        description="ISO 3166-1 alpha-2 code of the country; a model of another maker may name"
        " regions of its own.",
        examples=["PT"],
    )
    confidence: float | None = Field(
        default=None,
        ge=0,
        le=1,
        exclude_if=is_absent,
        description="How sure it is; left out where the order of letters and digits tells it.",
        examples=[0.93],
    )


class CorrectionBody(ResponseModel):
    """What a person wrote beside the reading."""

    plate: str | None = Field(
        description="What the plate really was, upper case, without separators; null: there is no"
        " plate in it.",
        examples=["AB12CDE"],
    )
    region: str | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Its country or region, if it was told.",
        examples=["PT"],
    )
    corrected_by: str = Field(
        description="E-mail address of the account, or the name that the key had.",
        examples=["gate@example.org"],
    )
    corrected_at: Timestamp = Field(description="When; UTC.")


class CharacterAlternativeBody(ResponseModel):
    """A character that may stand in the plate instead."""

    position: int = Field(ge=0, description="Whose place it would take, from 0.", examples=[3])
    character: str = Field(description="A letter or digit.", examples=["D"])
    confidence: float = Field(ge=0, le=1, description="The chance that it is.", examples=[0.12])


class RecognitionBody(ResponseModel):
    """One pass of one vehicle, or a plate of a stored image call."""

    id: str = Field(json_schema_extra={"format": "uuid"}, description="Id of the recognition.")
    user_id: str = Field(json_schema_extra={"format": "uuid"}, description="Id of the account.")
    camera_id: str = Field(
        json_schema_extra={"format": "uuid"},
        description="Id of the camera; the nil UUID for an image call.",
    )
    camera_name: str = Field(
        description="The camera's name at that time; `API` for an image call.",
        examples=["Gate north"],
    )
    plate: str = Field(description="Upper case, without separators.", examples=["AB12CDE"])
    confidence: float = Field(
        ge=0,
        le=1,
        description="The chance that the plate is right: the mean of its characters'.",
        examples=[0.97],
    )
    timestamp: str = Field(
        json_schema_extra={"format": "date-time"},
        description="When the frame was captured whose reading won; UTC.",
        examples=["2026-11-21T16:32:52.301Z"],
    )
    photo_url: str | None = Field(
        default=None,
        exclude_if=is_absent,
        description="The full frame: a storage key in lists and events, a link for an hour from"
        " GET by id. Left out where there is none.",
        examples=["owner/2026/11/21/photo.jpg"],
    )
    crop_url: str | None = Field(
        default=None,
        exclude_if=is_absent,
        description="The plate cut out of it, likewise.",
        examples=["owner/2026/11/21/crop.jpg"],
    )
    plate_coordinates: PlateCoordinates | None = Field(
        default=None, exclude_if=is_absent, description="Where the plate is in the frame."
    )
    region: PlateRegion | None = Field(
        default=None, exclude_if=is_absent, description="The plate's country, where it is known."
    )
    plate_type: str | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Shape of the plate: `car`, `two-row` or `motorcycle`.",
        examples=["car"],
    )
    character_confidences: list[float] | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Of each character of the plate, 0 to 1.",
        examples=[[0.99, 0.98, 0.97, 0.99, 0.95, 0.96, 0.95]],
    )
    character_alternatives: list[CharacterAlternativeBody] | None = Field(
        default=None,
        exclude_if=is_absent,
        description="What may stand there instead, the likeliest first; not in lists.",
    )
    first_seen_at: str | None = Field(
        default=None,
        exclude_if=is_absent,
        json_schema_extra={"format": "date-time"},
        description="First frame of the pass; UTC.",
    )
    last_seen_at: str | None = Field(
        default=None,
        exclude_if=is_absent,
        json_schema_extra={"format": "date-time"},
        description="Last frame of the pass; UTC.",
    )
    readings_count: int | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Frames of the pass whose plate was read.",
        examples=[9],
        ge=0,
    )
    source: RecognitionSource | None = Field(
        default=None,
        exclude_if=is_absent,
        description="`camera`, or `api` for an image call that was stored.",
    )
    direction: Direction | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Which way the vehicle went, as the camera sees it; left out where it is not"
        " clear.",
    )
    correction: CorrectionBody | None = Field(
        default=None,
        exclude_if=is_absent,
        description="What a person wrote beside the reading, which stays as it is.",
    )


class RecognitionList(ResponseModel):
    """A page, newest first. ``nextKey`` is null on the last one."""

    recognitions: list[RecognitionBody] = Field(description="At most `limit`, newest first.")
    next_key: str | None = Field(
        description="lastKey of the next page; null: there is none.", examples=["eyJ0IjoxNzY0MH0"]
    )


class RecognitionAnswer(ResponseModel):
    """One recognition, with links to its images that are valid for an hour."""

    recognition: RecognitionBody = Field(description="The recognition.")


class _CorrectedPayload(RecognitionPayload, frozen=True, kw_only=True):
    """A recognition with what was written beside it, as JSON has it."""

    correction: dict[str, object]


_NONE_CORRECTED: Mapping[UUID, Correction] = {}


def page_json(page: Page, corrections: Mapping[UUID, Correction] = _NONE_CORRECTED) -> bytes:
    """Return the body of a list's answer, a :class:`RecognitionList`; images by storage keys.

    Up to 200 rows a call: they are written without a model for each, which was a third of its CPU.
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
