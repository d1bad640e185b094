"""Routes of ``/api/recognitions``."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from api.actors import Action
from api.deps import Caller, ResourceId, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import error_responses
from api.recognitions.corrections import Corrections
from api.recognitions.schemas import (
    RecognitionAnswer,
    RecognitionList,
    RecognitionListQuery,
    page_json,
    recognition_body,
)
from api.recognitions.service import Recognitions
from api.security.permissions import Scope, requires

router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])

RecognitionsDep = Annotated[Recognitions, Depends(service(Recognitions))]
CorrectionsDep = Annotated[Corrections, Depends(service(Corrections))]


@router.get(
    "/api/recognitions",
    summary="List recognitions",
    response_model=RecognitionList,
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
@requires(Scope.RECOGNITIONS_READ, audit=Action.RECOGNITIONS_SEARCHED)
async def list_recognitions(
    recognitions: RecognitionsDep,
    corrections: CorrectionsDep,
    caller: Caller,
    query: Annotated[RecognitionListQuery, Query()],
) -> Response:
    """Returns recognitions, newest first. Image fields are storage keys."""
    wanted = query.wanted(caller.owner_id)
    page = await recognitions.search(wanted, query.limit, query.last_key, corrected=query.corrected)
    written = await corrections.get_many(caller.owner_id, [found.id for found in page.recognitions])
    return Response(page_json(page, written), media_type="application/json")


@router.get(
    "/api/recognitions/{id}",
    summary="Get a recognition",
    responses=error_responses(ErrorCode.NOT_FOUND),
)
@requires(Scope.RECOGNITIONS_READ, audit=Action.RECOGNITION_VIEWED)
async def get_recognition(
    recognitions: RecognitionsDep, corrections: CorrectionsDep, caller: Caller, id: ResourceId
) -> RecognitionAnswer:
    """Returns a recognition. Image fields are presigned URLs valid for one hour.

    An image field is omitted until the image is stored and after the retention period ends.
    """
    found = await recognitions.require(caller.owner_id, id)
    links = await recognitions.links(found)
    correction = (await corrections.get_many(caller.owner_id, [id])).get(id)
    return RecognitionAnswer(
        recognition=recognition_body(found, correction, photo_url=links.photo, crop_url=links.crop)
    )
