"""Routes of ``/api/recognitions/{id}/correction`` and ``/api/corrections``."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import AfterValidator, Field

from api.actors import Action
from api.deps import Caller, ResourceId, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import BODY_ERRORS, error_responses
from api.paging.lists import NextKey
from api.recognitions.corrections import CorrectionFilter, Corrections
from api.recognitions.repository import Correction
from api.recognitions.schemas import DEFAULT_LIMIT, CorrectionBody, Limit, correction_body
from api.recognitions.service import Recognitions
from api.schemas import NameText, QueryModel, RequestModel, ResponseModel, Timestamp, is_absent
from api.security.permissions import BodyKind, Scope, requires
from api.validation.fields import field_check, from_unix_ms
from common.plates.normalise import typed_plate, whole_plate

router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])

CorrectionsDep = Annotated[Corrections, Depends(service(Corrections))]
RecognitionsDep = Annotated[Recognitions, Depends(service(Recognitions))]


_MAX_WRITTEN_CHARACTERS = 64
_MAX_REGION_CHARACTERS = 40


class WrittenCorrection(RequestModel):
    """The correct plate."""

    plate: (
        Annotated[
            str,
            Field(max_length=_MAX_WRITTEN_CHARACTERS),
            AfterValidator(field_check(whole_plate)),
        ]
        | None
    ) = Field(
        description="The correct plate. Case, spaces, dots, dashes and accents are ignored. "
        "Null: there is no plate.",
        examples=["AB12CDE"],
    )
    region: Annotated[NameText, Field(max_length=_MAX_REGION_CHARACTERS)] | None = Field(
        default=None, description="Country or region of the plate.", examples=["PT"]
    )


class CorrectionAnswer(ResponseModel):
    """The stored correction."""

    correction: CorrectionBody = Field(description="The stored correction.")


class CorrectionQuery(QueryModel):
    """Query parameters for listing corrections."""

    plate: (
        Annotated[
            str,
            Field(max_length=_MAX_WRITTEN_CHARACTERS),
            AfterValidator(field_check(typed_plate)),
        ]
        | None
    ) = Field(default=None, description="Substring of the corrected plate.")
    limit: Limit = Field(default=DEFAULT_LIMIT, description="Maximum number of rows to return.")
    last_key: str | None = Field(default=None, alias="lastKey", description="Previous `nextKey`.")


class CorrectedBody(ResponseModel):
    """A corrected recognition: the reading, the correction and the images."""

    recognition_id: str = Field(
        json_schema_extra={"format": "uuid"}, description="ID of the recognition."
    )
    camera_id: str = Field(json_schema_extra={"format": "uuid"}, description="ID of the camera.")
    timestamp: Timestamp = Field(description="Capture time of the frame (UTC).")
    reading: str = Field(description="Plate text that was read.", examples=["A812CDE"])
    correction: CorrectionBody = Field(description="The correction.")
    photo_url: str | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Presigned URL of the photo, valid for one hour.",
        examples=["https://s3.example.com/images/photo.jpg?X-Amz-Expires=3600"],
    )
    crop_url: str | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Presigned URL of the plate crop, valid for one hour.",
        examples=["https://s3.example.com/images/crop.jpg?X-Amz-Expires=3600"],
    )


class CorrectionList(ResponseModel):
    """A page of corrections, newest recognition first."""

    corrections: list[CorrectedBody] = Field(description="Up to `limit` corrections.")
    next_key: NextKey


def corrected_body(
    found: Correction, *, photo_url: str | None, crop_url: str | None
) -> CorrectedBody:
    """Return the JSON form of a correction in the list."""
    return CorrectedBody(
        recognition_id=str(found.recognition_id),
        camera_id=str(found.camera_id),
        timestamp=from_unix_ms(found.captured_ms),
        reading=found.reading,
        correction=correction_body(found),
        photo_url=photo_url,
        crop_url=crop_url,
    )


@router.put(
    "/api/recognitions/{id}/correction",
    summary="Correct a recognition",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Scope.CORRECTIONS_WRITE, BodyKind.JSON)
async def write_correction(
    corrections: CorrectionsDep, caller: Caller, id: ResourceId, body: WrittenCorrection
) -> CorrectionAnswer:
    """Stores the correct plate of a recognition. Keeps the original reading; sends no event."""
    written = await corrections.write(caller, id, body.plate, body.region)
    return CorrectionAnswer(correction=correction_body(written))


@router.delete(
    "/api/recognitions/{id}/correction",
    status_code=204,
    response_class=Response,
    summary="Delete a correction",
    responses=error_responses(ErrorCode.NOT_FOUND),
)
@requires(Scope.CORRECTIONS_WRITE)
async def remove_correction(corrections: CorrectionsDep, caller: Caller, id: ResourceId) -> None:
    """Deletes the correction of a recognition, but not the recognition."""
    await corrections.remove(caller.owner_id, id)


@router.get(
    "/api/corrections",
    summary="List corrections",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
@requires(Scope.RECOGNITIONS_READ, audit=Action.CORRECTIONS_SEARCHED)
async def list_corrections(
    corrections: CorrectionsDep,
    recognitions: RecognitionsDep,
    caller: Caller,
    query: Annotated[CorrectionQuery, Query()],
) -> CorrectionList:
    """Returns corrected recognitions with the original reading and image URLs, page by page."""
    wanted = CorrectionFilter(caller.owner_id, query.plate or None)
    page = await corrections.page(wanted, query.limit, query.last_key)
    bodies = []
    for found in page.corrections:
        links = recognitions.links_to(found)
        bodies.append(corrected_body(found, photo_url=links.photo, crop_url=links.crop))
    return CorrectionList(corrections=bodies, next_key=page.next_key)
