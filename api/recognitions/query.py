"""What can be asked of the list of recognitions."""

from typing import Annotated
from uuid import UUID

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from analytics_sql.recognitions import RecognitionFilter
from api.moments import Moment
from api.parameters import number, uuid_text, whole_number
from api.recognitions.schemas import DEFAULT_LIMIT, MAX_LIMIT
from contracts.edits import ANY_CHARACTER, ANY_TEXT
from contracts.errors import InvalidInputError
from contracts.matching import MatchMode, has_wildcard, plate_matcher
from contracts.plates import normalise_plate

_MATCH = """How `plate` is compared, both without case, spaces, dots and dashes:

- `substring`: the plate holds it.
- `exact`: the plate is it.
- `prefix`: the plate begins with it.
- `wildcard`: the whole plate fits it; `*` stands for any characters or none, `?` for one.
- `fuzzy`: the whole plate is it, give or take one character, where `0OQD`, `1IL`, `2Z`, `5S`, `6G`
  and `8B` count as the same.

All but `substring` need a `plate` of 1 to 16 characters."""

_MOST_WRITTEN = 256
"""Normalising takes time by the square of a text's length: a second for 150,000 characters."""


Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), BeforeValidator(number)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), BeforeValidator(whole_number)]
"""How many rows a list has at most."""


class PlateQuery(BaseModel):
    """Which recognitions are asked for; a wrong parameter does not hide what is wrong in others."""

    model_config = ConfigDict(frozen=True)

    # Before plate, which is checked with it.
    match: MatchMode = Field(default=MatchMode.SUBSTRING, description=_MATCH)
    plate: Annotated[str, Field(max_length=_MOST_WRITTEN)] | None = Field(
        default=None,
        validate_default=True,
        description="The plate, or what match makes of it; case, spaces, dots and dashes do not"
        " matter.",
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

    from_ms: Moment | None = Field(
        default=None, alias="from", description="Not before this moment (inclusive)."
    )
    to_ms: Moment | None = Field(
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


def searched_plate(plate: str | None, match: MatchMode) -> str | None:
    """Return the text to search for, normalised; None for no such condition.

    Raises:
        ValueError: a text that makes no sense with ``match``.
    """
    if match is MatchMode.SUBSTRING:
        # Blank has always been no condition here, and a text that no plate can hold finds nothing.
        return normalise_plate(plate or "") or None
    if plate is None:
        raise ValueError(f"is needed with match={match}")
    if match is MatchMode.FUZZY and has_wildcard(plate):
        raise ValueError("may not hold * or ? with match=fuzzy")
    try:
        text = plate_matcher(plate, match).text
    except InvalidInputError as error:
        raise ValueError(str(error)) from error
    if match is MatchMode.WILDCARD and not text.strip(ANY_TEXT + ANY_CHARACTER):
        raise ValueError("must hold more than wildcards with match=wildcard")
    return text
