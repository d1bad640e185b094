"""Routes of ``/api/audit``."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from api.actors import Action
from api.audit_log.schemas import AuditEntryList, AuditQuery, entry_body
from api.audit_log.service import AuditLog
from api.deps import Caller, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import error_responses
from api.security.permissions import Scope, requires

router = APIRouter(route_class=GuardedRoute, tags=["Audit"])


@router.get(
    "/api/audit",
    summary="List audit log entries",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
@requires(Scope.AUDIT_READ, audit=Action.AUDIT_READ)
async def read_audit_log(
    audit: Annotated[AuditLog, Depends(service(AuditLog))],
    caller: Caller,
    query: Annotated[AuditQuery, Query()],
) -> AuditEntryList:
    """Returns searches, changes, exports and erasures in the account, newest first."""
    page = await audit.page(query.wanted(caller.owner_id), query.limit, query.last_key)
    return AuditEntryList(entries=list(map(entry_body, page.entries)), next_key=page.next_key)
