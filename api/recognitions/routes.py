"""``/api/recognitions``."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.answers import errors
from api.errors import ErrorCode
from api.guard import Caller, GuardedRoute
from api.ids import ResourceId
from api.recognitions.page_json import page_json
from api.recognitions.query import RecognitionQuery
from api.recognitions.schemas import RecognitionAnswer, RecognitionList, recognition_body
from api.services import services_of

router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])


@router.get(
    "/api/recognitions",
    summary="List recognitions",
    response_model=RecognitionList,
    responses=errors(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
async def list_recognitions(
    request: Request,
    caller: Caller,
    query: Annotated[RecognitionQuery, Query()],
) -> Response:
    """Return the caller's recognitions, newest first. Image fields are storage keys here."""
    wanted = query.wanted(caller.owner_id)
    page = await services_of(request).recognitions.page(wanted, query.limit, query.last_key)
    return Response(page_json(page), media_type="application/json")


@router.get(
    "/api/recognitions/{id}",
    summary="One recognition with links to its images",
    responses=errors(ErrorCode.NOT_FOUND),
)
async def get_recognition(request: Request, caller: Caller, id: ResourceId) -> RecognitionAnswer:
    """Return one recognition; its image fields are URLs that are valid for one hour."""
    recognitions = services_of(request).recognitions
    found = await recognitions.require(caller.owner_id, id)
    links = recognitions.links(found)
    return RecognitionAnswer(
        recognition=recognition_body(found, photo_url=links.photo, crop_url=links.crop)
    )
