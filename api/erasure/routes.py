"""Routes of ``/api/erasures``."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import AfterValidator, Field

from api.db.tables import ErasureJob
from api.deps import Caller, ResourceId, service
from api.erasure.jobs import ErasureJobs
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import BODY_ERRORS, error_responses
from api.paging.lists import CursorsDep, ListFilter, ListQuery, next_key_field, page_of
from api.schemas import RequestModel, ResponseModel, Timestamp
from api.security.permissions import BodyKind, Scope, requires
from api.validation.fields import field_check
from common.plates.normalise import whole_plate

router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])

ErasuresDep = Annotated[ErasureJobs, Depends(service(ErasureJobs))]

_MAX_WRITTEN_CHARACTERS = 64


class ErasureRequest(RequestModel):
    """A plate to erase."""

    plate: Annotated[
        str,
        Field(
            max_length=_MAX_WRITTEN_CHARACTERS,
            description="The complete plate, without wildcards. Case, spaces, dots, dashes "
            "and accents are ignored.",
            examples=["AB12CDE"],
        ),
        AfterValidator(field_check(whole_plate)),
    ]


class ErasureBody(ResponseModel):
    """An erasure: who requested it, its state and what it erased."""

    id: str = Field(
        description="ID of the erasure.", examples=["0199c2b4-6f0a-7c3e-9a51-2d8c5b7e4f10"]
    )
    plate: str = Field(
        description="First and last characters of the plate. From about ten minutes after the "
        "erasure is done, only this masked form is still stored.",
        examples=["A*****E"],
    )
    state: Literal["waiting", "running", "done"] = Field(description="State of the erasure.")
    requested_by: str = Field(
        description="Email address of the person, or name of the API key, that requested the "
        "erasure.",
        examples=["ana@example.com"],
    )
    requested_at: Timestamp = Field(description="Time of the request (UTC).")
    finished_at: Timestamp | None = Field(description="Completion time (UTC); null: not yet.")
    error: str | None = Field(
        description="Reason for the pending retry; null if there was no error.",
        examples=["A server is unavailable or busy. The erasure will be retried."],
    )
    counts: dict[str, int] | None = Field(
        description="Number of items erased, by type; set when the erasure is done.",
        examples=[{"recognitions": 12}],
    )


class ErasureAnswer(ResponseModel):
    """One erasure."""

    erasure: ErasureBody = Field(description="The erasure.")


class ErasuresAnswer(ResponseModel):
    """The account's erasures, newest first."""

    erasures: list[ErasureBody] = Field(
        description="Erasures that are pending or running, and those completed in the last 90 days."
    )
    next_key: str | None = next_key_field()


def erasure_body(job: ErasureJob) -> ErasureBody:
    """Return the JSON form of a job."""
    return ErasureBody.model_validate(
        {
            "id": str(job.id),
            "plate": job.plate_masked,
            "state": job.state,
            "requested_by": job.requested_by,
            "requested_at": job.requested_at,
            "finished_at": job.finished_at,
            "error": job.error,
            "counts": job.counts,
        }
    )


@router.post(
    "/api/erasures",
    status_code=202,
    summary="Erase a plate",
    responses=error_responses(*BODY_ERRORS, ErrorCode.LIMIT_REACHED),
)
@requires(Scope.ERASURES_WRITE, BodyKind.JSON)
async def erase_plate(erasures: ErasuresDep, caller: Caller, body: ErasureRequest) -> ErasureAnswer:
    """Permanently erases everything captured so far for a plate, in the background."""
    return ErasureAnswer(erasure=erasure_body(await erasures.request(caller, body.plate)))


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
    """Returns the account's erasures, newest first, in pages if `limit` or `lastKey` is set."""
    jobs = await erasures.list_all(caller.owner_id)
    wanted = ListFilter("erasures", caller.owner_id)
    page, next_key = page_of(jobs, query, wanted, cursors, lambda job: job)
    return ErasuresAnswer(erasures=[erasure_body(job) for job in page], next_key=next_key)


@router.get(
    "/api/erasures/{id}", summary="Get an erasure", responses=error_responses(ErrorCode.NOT_FOUND)
)
@requires(Scope.RECOGNITIONS_READ)
async def get_erasure(erasures: ErasuresDep, caller: Caller, id: ResourceId) -> ErasureAnswer:
    """Returns the state of an erasure. Available for 90 days after completion."""
    return ErasureAnswer(erasure=erasure_body(await erasures.get(caller.owner_id, id)))
