"""``/api/webhooks``."""

from fastapi import APIRouter, Request, Response

from api.answers import BODY_ERRORS, errors
from api.errors import ErrorCode
from api.guard import Caller, GuardedRoute
from api.ids import ResourceId
from api.services import services_of
from api.webhooks.schemas import (
    WebhookAnswer,
    WebhookCreate,
    WebhookList,
    WebhookUpdate,
    webhook_body,
)

router = APIRouter(route_class=GuardedRoute, tags=["Webhooks"])


@router.get("/api/webhooks", summary="List webhooks", responses=errors())
async def list_webhooks(request: Request, caller: Caller) -> WebhookList:
    """Return the caller's webhooks, newest first."""
    rows = await services_of(request).webhooks.all_of(caller.owner_id)
    return WebhookList(webhooks=[webhook_body(row) for row in rows])


@router.post(
    "/api/webhooks",
    status_code=201,
    summary="Register a webhook",
    responses=errors(*BODY_ERRORS, ErrorCode.LIMIT_REACHED),
)
async def create_webhook(request: Request, caller: Caller, body: WebhookCreate) -> WebhookAnswer:
    """Register a webhook. Addresses outside of the public internet are refused."""
    row = await services_of(request).webhooks.create(caller.owner_id, body)
    return WebhookAnswer(webhook=webhook_body(row))


@router.put(
    "/api/webhooks/{id}",
    summary="Change a webhook",
    responses=errors(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
async def update_webhook(
    request: Request, caller: Caller, id: ResourceId, body: WebhookUpdate
) -> WebhookAnswer:
    """Change the fields that are sent; the others stay. ``headers`` are replaced as a whole."""
    row = await services_of(request).webhooks.update(caller.owner_id, id, body)
    return WebhookAnswer(webhook=webhook_body(row))


@router.delete(
    "/api/webhooks/{id}",
    status_code=204,
    response_class=Response,
    summary="Delete a webhook",
    responses=errors(ErrorCode.NOT_FOUND),
)
async def delete_webhook(request: Request, caller: Caller, id: ResourceId) -> None:
    """Delete a webhook; nothing more is sent to it."""
    await services_of(request).webhooks.delete(caller.owner_id, id)
