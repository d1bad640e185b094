"""``/api/alertas/plates/import`` and ``/api/cameras/import``: CSV files as JSON."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Query, Request

from api.deps import Caller, service
from api.errors import ApiError, ErrorCode
from api.imports.cameras import imported_cameras
from api.imports.plates import imported_plates
from api.imports.schemas import CameraImportAnswer, ImportQuery, PlateImportAnswer
from api.imports.service import TableImports
from api.imports.tables import CsvTable
from api.middleware.bodies import read_body
from api.middleware.guard import GuardedRoute
from api.openapi import error_responses
from api.security.permissions import BodyKind, Principal, Scope, requires
from api.validation.fields import validation_rules
from common.errors import InvalidInputError

_T = TypeVar("_T")

router = APIRouter(route_class=GuardedRoute)

ImportsDep = Annotated[TableImports, Depends(service(TableImports))]

_ERRORS = error_responses(
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNREADABLE_FILE,
    ErrorCode.INCOMPLETE_BODY,
    ErrorCode.BODY_TOO_LARGE,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
)


@router.post(
    "/api/alertas/plates/import",
    tags=["Alerts"],
    summary="Read a CSV file of plates",
    responses=_ERRORS,
)
@requires(Scope.ALERTS_WRITE, BodyKind.TABLE)
async def import_plates(
    request: Request,
    imports: ImportsDep,
    caller: Caller,
    query: Annotated[ImportQuery, Query()],
) -> PlateImportAnswer:
    """Return the plates of a CSV file, and the rows that were skipped. Nothing is stored."""
    limit = validation_rules().plates_per_alert
    return await _read(request, imports, caller, query, lambda table: imported_plates(table, limit))


@router.post(
    "/api/cameras/import",
    tags=["Cameras"],
    summary="Read a CSV file of cameras",
    responses=_ERRORS,
)
@requires(Scope.CAMERAS_WRITE, BodyKind.TABLE)
async def import_cameras(
    request: Request,
    imports: ImportsDep,
    caller: Caller,
    query: Annotated[ImportQuery, Query()],
) -> CameraImportAnswer:
    """Return the cameras of a CSV file as bodies of ``POST /api/cameras``. Nothing is stored."""
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
