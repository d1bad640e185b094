"""``/api/webhooks``."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from api.deps import Caller, ResourceId, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import BODY_ERRORS, error_responses
from api.paging.lists import CursorsDep, ListFilter, ListQuery, page_of
from api.security.credentials import new_signing_secret
from api.security.permissions import BodyKind, Principal, Scope, requires
from api.signing_secrets import RotateSecret
from api.webhooks.repository import WebhookRow
from api.webhooks.schemas import (
    WebhookAnswer,
    WebhookCreate,
    WebhookList,
    WebhookUpdate,
    webhook_body,
)
from api.webhooks.service import Webhooks

router = APIRouter(route_class=GuardedRoute, tags=["Webhooks"])

WebhooksDep = Annotated[Webhooks, Depends(service(Webhooks))]

_NEW_SECRET = RotateSecret()
"""Stands for a body that is not sent."""


@router.get(
    "/api/webhooks",
    summary="List webhooks",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
@requires(Scope.WEBHOOKS_READ)
async def list_webhooks(
    webhooks: WebhooksDep, cursors: CursorsDep, caller: Caller, query: Annotated[ListQuery, Query()]
) -> WebhookList:
    """Return the caller's webhooks, newest first; all of them unless a page is asked for."""
    rows = await webhooks.list_all(caller.owner_id)
    wanted = ListFilter("webhooks", caller.owner_id)
    page, next_key = page_of(rows, query, wanted, cursors, lambda row: row)
    bodies = [webhook_body(row, shows_secrets=True) for row in page]
    return WebhookList(webhooks=bodies, next_key=next_key)


@router.post(
    "/api/webhooks",
    status_code=201,
    summary="Register a webhook",
    responses=error_responses(*BODY_ERRORS, ErrorCode.LIMIT_REACHED),
)
@requires(Scope.WEBHOOKS_WRITE, BodyKind.JSON)
async def create_webhook(
    webhooks: WebhooksDep, caller: Caller, body: WebhookCreate
) -> WebhookAnswer:
    """Register a webhook. Addresses outside of the public internet are refused.

    The answer shows it whole. Later answers show its secret, the values of its headers and the
    whole URL to keys with the scope webhooks:read only. Other keys see *** for each value, and
    scheme and host of the URL.
    """
    row = await webhooks.create(caller.owner_id, body)
    return WebhookAnswer(webhook=webhook_body(row, shows_secrets=True))


@router.get(
    "/api/webhooks/{id}", summary="One webhook", responses=error_responses(ErrorCode.NOT_FOUND)
)
@requires(Scope.WEBHOOKS_READ)
async def get_webhook(webhooks: WebhooksDep, caller: Caller, id: ResourceId) -> WebhookAnswer:
    """Return one of the caller's webhooks."""
    return _answer(caller, await webhooks.get(caller.owner_id, id))


@router.put(
    "/api/webhooks/{id}",
    summary="Change a webhook",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Scope.WEBHOOKS_WRITE, BodyKind.JSON)
async def update_webhook(
    webhooks: WebhooksDep, caller: Caller, id: ResourceId, body: WebhookUpdate
) -> WebhookAnswer:
    """Change the fields that are sent; the others stay. ``headers`` are replaced as a whole.

    A secret or a value *** stays as it is stored, and so does a URL that a key without
    webhooks:read sends back as scheme and host. Values that the key may not read go to no other
    scheme, host or port: with such an address, headers are sent anew.
    """
    row = await webhooks.update(caller, id, body)
    return _answer(caller, row)


@router.delete(
    "/api/webhooks/{id}",
    status_code=204,
    response_class=Response,
    summary="Delete a webhook",
    responses=error_responses(ErrorCode.NOT_FOUND),
)
@requires(Scope.WEBHOOKS_WRITE)
async def delete_webhook(webhooks: WebhooksDep, caller: Caller, id: ResourceId) -> None:
    """Delete a webhook; nothing more is sent to it."""
    await webhooks.delete(caller.owner_id, id)


@router.post(
    "/api/webhooks/{id}/rotate-secret",
    summary="Give a webhook a new secret",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Scope.WEBHOOKS_WRITE, BodyKind.JSON, body_optional=True)
async def rotate_secret(
    webhooks: WebhooksDep,
    response: Response,
    caller: Caller,
    id: ResourceId,
    body: RotateSecret = _NEW_SECRET,
) -> WebhookAnswer:
    """Make a new secret; for ``overlapHours`` the old one signs as well.

    A key that may not read webhooks is not shown the new one either: it may send its own.
    """
    secret = body.secret or new_signing_secret()
    overlap = timedelta(hours=body.overlap_hours)
    row = await webhooks.rotate_secret(caller.owner_id, id, secret, overlap)
    return _answer(caller, row)


def _answer(caller: Principal, row: WebhookRow) -> WebhookAnswer:
    return WebhookAnswer(webhook=webhook_body(row, shows_secrets=caller.sees_secrets))
