"""``/api/recognitions``."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from analytics_sql.recognitions import RecognitionFilter
from api.answers import errors
from api.errors import ErrorCode
from api.guard import Caller, GuardedRoute
from api.ids import ResourceId
from api.moments import Moment
from api.recognitions.schemas import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    RecognitionAnswer,
    RecognitionList,
    recognition_body,
)
from api.services import services_of
from contracts.plates import normalise_plate

router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])

PlateParameter = Annotated[
    str | None,
    Query(
        description="Part of the plate; case, spaces, dots and dashes do not matter.",
        examples=["AB12"],
    ),
]
CameraParameter = Annotated[UUID | None, Query(alias="cameraId", description="Only this camera.")]
FromParameter = Annotated[
    Moment | None, Query(alias="from", description="Not before this moment (inclusive).")
]
ToParameter = Annotated[Moment | None, Query(description="Before this moment (exclusive).")]
LimitParameter = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Most rows of the page.")]
LastKeyParameter = Annotated[
    str | None,
    Query(alias="lastKey", description="nextKey of the page before, with the same filters."),
]


@router.get(
    "/api/recognitions",
    summary="List recognitions",
    responses=errors(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
async def list_recognitions(
    request: Request,
    caller: Caller,
    plate: PlateParameter = None,
    camera_id: CameraParameter = None,
    from_ms: FromParameter = None,
    to: ToParameter = None,
    limit: LimitParameter = DEFAULT_LIMIT,
    last_key: LastKeyParameter = None,
) -> RecognitionList:
    """Return the caller's recognitions, newest first. Image fields are storage keys here."""
    wanted = RecognitionFilter(
        user_id=caller.owner_id,
        plate=None if plate is None else normalise_plate(plate) or None,
        camera_id=camera_id,
        from_ms=from_ms,
        to_ms=to,
    )
    page = await services_of(request).recognitions.page(wanted, limit, last_key)
    bodies = [
        recognition_body(found, photo_url=found.photo_key, crop_url=found.crop_key)
        for found in page.recognitions
    ]
    return RecognitionList(recognitions=bodies, next_key=page.next_key)


@router.get(
    "/api/recognitions/{id}",
    summary="One recognition with links to its images",
    responses=errors(ErrorCode.NOT_FOUND),
)
async def get_recognition(
    request: Request, response: Response, caller: Caller, id: ResourceId
) -> RecognitionAnswer:
    """Return one recognition; its image fields are URLs that are valid for one hour."""
    recognitions = services_of(request).recognitions
    found = await recognitions.require(caller.owner_id, id)
    links = recognitions.links(found)
    # The links are as good as a key for an hour: nothing in between may keep them.
    response.headers["Cache-Control"] = "private, no-store"
    return RecognitionAnswer(
        recognition=recognition_body(found, photo_url=links.photo, crop_url=links.crop)
    )
