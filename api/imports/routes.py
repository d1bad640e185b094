"""Routes that convert CSV files to JSON: ``/api/cameras/import``, ``/api/alertas/plates/import``.

Files are parsed in a thread. Accounts are scheduled fairly, with limited CPU time per minute.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, TypeVar
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request

from api.deps import Caller, service
from api.errors import ApiError, ErrorCode
from api.imports.cameras import imported_cameras
from api.imports.plates import imported_plates
from api.imports.schemas import CameraImportAnswer, ImportQuery, PlateImportAnswer
from api.imports.tables import CsvTable, FileEncoding, read_table
from api.limits.fair_queue import QueueLimits
from api.limits.fair_threads import FairThreads, TimeBudget
from api.middleware.bodies import read_body
from api.middleware.guard import GuardedRoute
from api.openapi import error_responses
from api.security.permissions import BodyKind, Principal, Scope, requires
from api.validation.fields import PLATES_PER_ALERT
from common.errors import InvalidInputError

_LIMITS = QueueLimits(at_once=1, waiting=20)
_WAIT_SECONDS = 10.0
_TOO_MANY = "Too many files are being read. Try again shortly."
_BUDGET_SECONDS = 5.0
_USED_UP = (
    f"The account has used its {_BUDGET_SECONDS:g} s of CPU time per minute for CSV files. Try "
    "again later."
)
_T = TypeVar("_T")

_ERRORS = error_responses(
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNREADABLE_FILE,
    ErrorCode.INCOMPLETE_BODY,
    ErrorCode.BODY_TOO_LARGE,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
)


class TableImports:
    """Parses CSV files. Stores nothing."""

    def __init__(self) -> None:
        self._threads = FairThreads(
            "imports", _LIMITS, wait_seconds=_WAIT_SECONDS, too_many=_TOO_MANY
        )
        self._budget = TimeBudget(_BUDGET_SECONDS, _USED_UP)

    async def read(
        self,
        owner_id: UUID,
        data: bytes,
        encoding: FileEncoding | None,
        work: Callable[[CsvTable], _T],
    ) -> _T:
        """Return the result of ``work`` on the rows of a file.

        Raises:
            ApiError: 429, too many files are waiting, or the account's CPU time is used up.
            InvalidInputError: the file cannot be parsed. The message is a sentence.
        """

        def read() -> _T:
            self._budget.require(owner_id)
            began = time.thread_time()
            try:
                return work(read_table(data, encoding))
            finally:
                self._budget.spend(owner_id, time.thread_time() - began)

        return await self._threads.run(owner_id, read)

    async def close(self) -> None:
        """Wait until running work has finished."""
        await asyncio.to_thread(self._threads.close)


router = APIRouter(route_class=GuardedRoute)

ImportsDep = Annotated[TableImports, Depends(service(TableImports))]
QueryDep = Annotated[ImportQuery, Query()]


@router.post(
    "/api/alertas/plates/import",
    tags=["Alerts"],
    summary="Parse a CSV file of plates",
    responses=_ERRORS,
)
@requires(Scope.ALERTS_WRITE, BodyKind.TABLE)
async def import_plates(
    request: Request, imports: ImportsDep, caller: Caller, query: QueryDep
) -> PlateImportAnswer:
    """Returns the plates in a CSV file and the skipped rows. Nothing is stored."""
    limit = PLATES_PER_ALERT
    return await _read(request, imports, caller, query, lambda table: imported_plates(table, limit))


@router.post(
    "/api/cameras/import",
    tags=["Cameras"],
    summary="Parse a CSV file of cameras",
    responses=_ERRORS,
)
@requires(Scope.CAMERAS_WRITE, BodyKind.TABLE)
async def import_cameras(
    request: Request, imports: ImportsDep, caller: Caller, query: QueryDep
) -> CameraImportAnswer:
    """Returns the cameras in a CSV file as bodies for `POST /api/cameras`. Nothing is stored."""
    return await _read(request, imports, caller, query, imported_cameras)


async def _read(
    request: Request,
    imports: TableImports,
    caller: Principal,
    query: ImportQuery,
    work: Callable[[CsvTable], _T],
) -> _T:
    data = await read_body(request)
    try:
        return await imports.read(caller.owner_id, data, query.encoding, work)
    except InvalidInputError as error:
        raise ApiError(ErrorCode.UNREADABLE_FILE, str(error)) from error
