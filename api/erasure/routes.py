"""``/api/erasures``."""

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
            description="The whole plate, without wildcards; case, spaces, dots, dashes and accents"
            " do not matter.",
            examples=["AB12CDE"],
        ),
        AfterValidator(field_check(whole_plate)),
    ]


class ErasureBody(ResponseModel):
    """An erasure: who asked for it, how far it is, what it erased."""

    id: str = Field(
        description="Id of the erasure.", examples=["0199c2b4-6f0a-7c3e-9a51-2d8c5b7e4f10"]
    )
    plate: str = Field(
        description="First and last character; the rest is forgotten some ten minutes after it "
        "is done, or once the erasure in hand is over.",
        examples=["A*****E"],
    )
    state: Literal["waiting", "running", "done"] = Field(description="How far it is.")
    requested_by: str = Field(
        description="The person's address, or the key's name.", examples=["ana@example.com"]
    )
    requested_at: Timestamp = Field(description="When it was asked for; UTC.")
    finished_at: Timestamp | None = Field(description="When it was done; UTC. Null: not yet.")
    error: str | None = Field(
        description="Why it is tried again, in a sentence; null: nothing is wrong.",
        examples=["A server does not answer, or is busy. It is tried again."],
    )
    counts: dict[str, int] | None = Field(
        description="What was erased, by name, once it is done.", examples=[{"recognitions": 12}]
    )


class ErasureAnswer(ResponseModel):
    """One erasure."""

    erasure: ErasureBody = Field(description="The erasure.")


class ErasuresAnswer(ResponseModel):
    """The account's erasures, newest first."""

    erasures: list[ErasureBody] = Field(
        description="Those that wait or are at work, and those done in the last 90 days."
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
    jobs = await erasures.list_all(caller.owner_id)
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
    return ErasureAnswer(erasure=erasure_body(await erasures.get(caller.owner_id, id)))
