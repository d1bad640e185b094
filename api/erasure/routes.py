"""``/api/erasures``."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from api.deps import Caller, ResourceId, service
from api.erasure.jobs import ErasureJobs
from api.erasure.schemas import ErasureAnswer, ErasureRequest, ErasuresAnswer, erasure_body
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import BODY_ERRORS, error_responses
from api.paging.lists import CursorsDep, ListFilter, ListQuery, page_of
from api.security.permissions import BodyKind, Scope, requires

router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])

ErasuresDep = Annotated[ErasureJobs, Depends(service(ErasureJobs))]


@router.post(
    "/api/erasures",
    status_code=202,
    summary="Erase a plate",
    responses=error_responses(*BODY_ERRORS, ErrorCode.LIMIT_REACHED),
)
@requires(Scope.ERASURES_WRITE, BodyKind.JSON)
async def erase_plate(erasures: ErasuresDep, caller: Caller, body: ErasureRequest) -> ErasureAnswer:
    """Have what was captured of a plate until now erased for good; it goes on by itself."""
    return ErasureAnswer(erasure=erasure_body(await erasures.ask(caller, body.plate)))


@router.get(
    "/api/erasures",
    summary="List erasures",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
@requires(Scope.ERASURES_WRITE)
async def list_erasures(
    erasures: ErasuresDep,
    cursors: CursorsDep,
    caller: Caller,
    query: Annotated[ListQuery, Query()],
) -> ErasuresAnswer:
    """Return the account's erasures, newest first; all of them unless a page is asked for."""
    jobs = await erasures.all_of(caller.owner_id)
    wanted = ListFilter("erasures", caller.owner_id)
    page, next_key = page_of(jobs, query, wanted, cursors, lambda job: job)
    return ErasuresAnswer(erasures=[erasure_body(job) for job in page], next_key=next_key)


@router.get(
    "/api/erasures/{id}",
    summary="State of an erasure",
    responses=error_responses(ErrorCode.NOT_FOUND),
)
@requires(Scope.RECOGNITIONS_READ)
async def get_erasure(erasures: ErasuresDep, caller: Caller, id: ResourceId) -> ErasureAnswer:
    """Return how far an erasure is; for 90 days after it is done."""
    return ErasureAnswer(erasure=erasure_body(await erasures.one(caller.owner_id, id)))
