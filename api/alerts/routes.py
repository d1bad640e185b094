"""``/api/alertas``."""

from fastapi import APIRouter, Request, Response

from api.alerts.schemas import (
    AlertAnswer,
    AlertCreate,
    AlertList,
    AlertUpdate,
    alert_body,
    alert_list,
)
from api.answers import BODY_ERRORS, errors
from api.errors import ErrorCode
from api.guard import Caller, GuardedRoute
from api.ids import ResourceId
from api.services import services_of

router = APIRouter(route_class=GuardedRoute, tags=["Alerts"])


@router.get("/api/alertas", summary="List alerts", responses=errors())
async def list_alerts(request: Request, caller: Caller) -> AlertList:
    """Return the caller's alerts, newest first."""
    book = await services_of(request).alerts.all_of(caller.owner_id)
    return alert_list(book)


@router.post(
    "/api/alertas",
    status_code=201,
    summary="Make an alert",
    responses=errors(*BODY_ERRORS, ErrorCode.LIMIT_REACHED),
)
async def create_alert(request: Request, caller: Caller, body: AlertCreate) -> AlertAnswer:
    """Make an alert. URLs outside of the public internet are refused."""
    row = await services_of(request).alerts.create(caller.owner_id, body)
    return AlertAnswer(alert=alert_body(row))


@router.put(
    "/api/alertas/{id}",
    summary="Change an alert",
    responses=errors(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
async def update_alert(
    request: Request, caller: Caller, id: ResourceId, body: AlertUpdate
) -> AlertAnswer:
    """Change the fields that are sent; the others stay, also within ``schedule``."""
    row = await services_of(request).alerts.update(caller.owner_id, id, body)
    return AlertAnswer(alert=alert_body(row))


@router.delete(
    "/api/alertas/{id}",
    status_code=204,
    response_class=Response,
    summary="Delete an alert",
    responses=errors(ErrorCode.NOT_FOUND),
)
async def delete_alert(request: Request, caller: Caller, id: ResourceId) -> None:
    """Delete an alert; it fires no more."""
    await services_of(request).alerts.delete(caller.owner_id, id)
