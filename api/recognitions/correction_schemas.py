"""JSON of corrections."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from api.recognitions.correction_rows import Correction
from api.recognitions.schemas import DEFAULT_LIMIT, CorrectionBody, Limit, correction_body
from api.schemas import NameText, RequestModel, ResponseModel, Timestamp, is_absent
from api.validation.fields import field_check, from_unix_ms
from common.plates.normalise import typed_plate, whole_plate

_MAX_WRITTEN_CHARACTERS = 64
_MAX_REGION_CHARACTERS = 40


class WrittenCorrection(RequestModel):
    """What a plate really was."""

    plate: (
        Annotated[
            str,
            Field(max_length=_MAX_WRITTEN_CHARACTERS),
            AfterValidator(field_check(whole_plate)),
        ]
        | None
    ) = Field(
        description="The plate; case, spaces, dots, dashes and accents do not matter. null: there"
        " is no plate in it.",
        examples=["AB12CDE"],
    )
    region: Annotated[NameText, Field(max_length=_MAX_REGION_CHARACTERS)] | None = Field(
        default=None, description="Country or region of the plate, if it is to be told."
    )


class CorrectionAnswer(ResponseModel):
    """A correction as it was written."""

    correction: CorrectionBody


class CorrectionQuery(BaseModel):
    """The query parameters of the list."""

    model_config = ConfigDict(frozen=True)

    plate: (
        Annotated[
            str,
            Field(max_length=_MAX_WRITTEN_CHARACTERS),
            AfterValidator(field_check(typed_plate)),
        ]
        | None
    ) = Field(default=None, description="Part of the plate as it was corrected.")
    limit: Limit = Field(default=DEFAULT_LIMIT, description="Most corrections of the page.")
    last_key: str | None = Field(
        default=None, alias="lastKey", description="nextKey of the page before."
    )


class CorrectedBody(ResponseModel):
    """A corrected recognition: what was read, what a person wrote, and the pictures of it."""

    recognition_id: str = Field(
        json_schema_extra={"format": "uuid"}, description="Id of the recognition."
    )
    camera_id: str = Field(json_schema_extra={"format": "uuid"}, description="Id of the camera.")
    timestamp: Timestamp = Field(description="When the frame was captured; UTC.")
    reading: str = Field(description="What was read.", examples=["A812CDE"])
    correction: CorrectionBody
    photo_url: str | None = Field(
        default=None, exclude_if=is_absent, description="Link to the full frame, for an hour."
    )
    crop_url: str | None = Field(
        default=None, exclude_if=is_absent, description="Link to the plate cut out of it, likewise."
    )


class CorrectionList(ResponseModel):
    """A page, the newest recognitions first."""

    corrections: list[CorrectedBody] = Field(description="At most `limit`.")
    next_key: str | None = Field(description="lastKey of the next page; null: there is none.")


def corrected_body(
    found: Correction, *, photo_url: str | None, crop_url: str | None
) -> CorrectedBody:
    """Return the JSON form of an entry of the list."""
    return CorrectedBody(
        recognition_id=str(found.recognition_id),
        camera_id=str(found.camera_id),
        timestamp=from_unix_ms(found.captured_ms),
        reading=found.reading,
        correction=correction_body(found),
        photo_url=photo_url,
        crop_url=crop_url,
    )
