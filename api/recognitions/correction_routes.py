"""``/api/recognitions/{id}/correction`` and ``/api/corrections``."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from api.deps import Caller, ResourceId, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import BODY_ERRORS, error_responses
from api.recognitions.correction_schemas import (
    CorrectionAnswer,
    CorrectionList,
    CorrectionQuery,
    WrittenCorrection,
    corrected_body,
)
from api.recognitions.corrections import CorrectionFilter, Corrections
from api.recognitions.schemas import correction_body
from api.recognitions.service import Recognitions
from api.security.actions import Action
from api.security.permissions import BodyKind, Scope, requires

router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])

CorrectionsDep = Annotated[Corrections, Depends(service(Corrections))]
RecognitionsDep = Annotated[Recognitions, Depends(service(Recognitions))]


@router.put(
    "/api/recognitions/{id}/correction",
    summary="Correct a recognition by hand",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Scope.CORRECTIONS_WRITE, BodyKind.JSON)
async def write_correction(
    corrections: CorrectionsDep, caller: Caller, id: ResourceId, body: WrittenCorrection
) -> CorrectionAnswer:
    """Write what the plate really was, beside the reading, which stays; nothing is sent again."""
    written = await corrections.write(caller, id, body.plate, body.region)
    return CorrectionAnswer(correction=correction_body(written))


@router.delete(
    "/api/recognitions/{id}/correction",
    status_code=204,
    response_class=Response,
    summary="Take a correction back",
    responses=error_responses(ErrorCode.NOT_FOUND),
)
@requires(Scope.CORRECTIONS_WRITE)
async def remove_correction(corrections: CorrectionsDep, caller: Caller, id: ResourceId) -> None:
    """Remove the correction; the recognition stays."""
    await corrections.remove(caller.owner_id, id)


@router.get(
    "/api/corrections",
    summary="List corrections",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
@requires(Scope.RECOGNITIONS_READ, notes=Action.CORRECTIONS_SEARCHED)
async def list_corrections(
    corrections: CorrectionsDep,
    recognitions: RecognitionsDep,
    caller: Caller,
    query: Annotated[CorrectionQuery, Query()],
) -> CorrectionList:
    """Return what was corrected with what was read and links to the pictures, page by page."""
    wanted = CorrectionFilter(caller.owner_id, query.plate or None)
    page = await corrections.page(wanted, query.limit, query.last_key)
    bodies = []
    for found in page.corrections:
        links = recognitions.links_to(found)
        bodies.append(corrected_body(found, photo_url=links.photo, crop_url=links.crop))
    return CorrectionList(corrections=bodies, next_key=page.next_key)
