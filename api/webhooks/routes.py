"""Routes of ``/api/webhooks``."""

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
"""Default body if no body is sent."""


@router.get(
    "/api/webhooks",
    summary="List webhooks",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
@requires(Scope.WEBHOOKS_READ)
async def list_webhooks(
    webhooks: WebhooksDep, cursors: CursorsDep, caller: Caller, query: Annotated[ListQuery, Query()]
) -> WebhookList:
    """Returns the account's webhooks, newest first, or a page if `limit` or `lastKey` is set."""
    rows = await webhooks.list_all(caller.owner_id)
    wanted = ListFilter("webhooks", caller.owner_id)
    page, next_key = page_of(rows, query, wanted, cursors, lambda row: row)
    bodies = [webhook_body(row, shows_secrets=True) for row in page]
    return WebhookList(webhooks=bodies, next_key=next_key)


@router.post(
    "/api/webhooks",
    status_code=201,
    summary="Create a webhook",
    responses=error_responses(*BODY_ERRORS, ErrorCode.LIMIT_REACHED),
)
@requires(Scope.WEBHOOKS_WRITE, BodyKind.JSON)
async def create_webhook(
    webhooks: WebhooksDep, caller: Caller, body: WebhookCreate
) -> WebhookAnswer:
    """Creates a webhook. The URL must be on the public internet or in an allowed network.

    This response contains the secret, the header values and the full URL. In other responses, keys
    without the scope `webhooks:read` see `***` in place of each secret value, and only the scheme
    and host of the URL.
    """
    row = await webhooks.create(caller.owner_id, body)
    return WebhookAnswer(webhook=webhook_body(row, shows_secrets=True))


@router.get(
    "/api/webhooks/{id}", summary="Get a webhook", responses=error_responses(ErrorCode.NOT_FOUND)
)
@requires(Scope.WEBHOOKS_READ)
async def get_webhook(webhooks: WebhooksDep, caller: Caller, id: ResourceId) -> WebhookAnswer:
    """Returns a webhook."""
    return _answer(caller, await webhooks.get(caller.owner_id, id))


@router.put(
    "/api/webhooks/{id}",
    summary="Update a webhook",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Scope.WEBHOOKS_WRITE, BodyKind.JSON)
async def update_webhook(
    webhooks: WebhooksDep, caller: Caller, id: ResourceId, body: WebhookUpdate
) -> WebhookAnswer:
    """Updates the fields that are sent.

    Omitted fields keep their values. `headers` is replaced as a whole.

    To keep a stored secret or header value, send `***`; to keep the URL, send the URL as shown. A
    key that cannot read header values must send them again to change the scheme, host or port.
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
    """Deletes a webhook. The receiver gets no more events."""
    await webhooks.delete(caller.owner_id, id)


@router.post(
    "/api/webhooks/{id}/rotate-secret",
    summary="Rotate a webhook secret",
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
    """Replaces the signing secret. The previous secret also signs for `overlapHours`.

    A key without the scope `webhooks:read` does not see a generated secret.
    """
    secret = body.secret or new_signing_secret()
    overlap = timedelta(hours=body.overlap_hours)
    row = await webhooks.rotate_secret(caller.owner_id, id, secret, overlap)
    return _answer(caller, row)


def _answer(caller: Principal, row: WebhookRow) -> WebhookAnswer:
    return WebhookAnswer(webhook=webhook_body(row, shows_secrets=caller.sees_secrets))
