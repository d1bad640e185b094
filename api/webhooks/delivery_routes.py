"""``/api/webhooks/{id}/…``: what was delivered, tests, replays, a new secret."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from analytics_sql.attempts import DeliveryPlace
from analytics_sql.rows import LAST_STORABLE_MS
from api.answers import BODY_ERRORS, errors
from api.errors import ErrorCode, invalid_field
from api.guard import Caller, GuardedRoute
from api.ids import DeliveryId, ResourceId
from api.moments import to_unix_ms
from api.services import services_of
from api.signing_secrets import new_signing_secret
from api.webhooks.delivery_schemas import (
    NO_BODY,
    DeliveryList,
    DeliveryQuery,
    QueuedAnswer,
    Redeliver,
    Replay,
    ReplayAnswer,
    RotateSecret,
    SendTest,
    delivery_body,
    queued_answer,
)
from api.webhooks.schemas import WebhookAnswer, webhook_body

router = APIRouter(route_class=GuardedRoute, tags=["Webhooks"])


# What is asked where no body is sent.
_ANY_TEST, _NEW_SECRET = SendTest(), RotateSecret()


@router.get(
    "/api/webhooks/{id}/deliveries",
    summary="List deliveries to a webhook",
    responses=errors(ErrorCode.INVALID_REQUEST, ErrorCode.NOT_FOUND),
)
async def list_deliveries(
    request: Request, caller: Caller, id: ResourceId, query: Annotated[DeliveryQuery, Query()]
) -> DeliveryList:
    """Return deliveries of the last seven days, or from ``from`` on, the latest tried first.

    They are kept for three months.
    """
    place = DeliveryPlace(user_id=caller.owner_id, webhook_id=id)
    found = await services_of(request).deliveries.latest(place, query)
    return DeliveryList(deliveries=[delivery_body(summary) for summary in found])


@router.post(
    "/api/webhooks/{id}/deliveries/{deliveryId}/redeliver",
    status_code=202,
    summary="Send a delivery again",
    responses=errors(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
async def redeliver(
    request: Request,
    caller: Caller,
    id: ResourceId,
    delivery_id: DeliveryId,
    body: Redeliver = NO_BODY,
) -> QueuedAnswer:
    """Send a delivery again, with the same ids and a schedule of retries of its own.

    No body is needed; an empty object will do as well.
    """
    queued = await services_of(request).deliveries.redeliver(caller.owner_id, id, delivery_id)
    return queued_answer(queued)


@router.post(
    "/api/webhooks/{id}/test",
    status_code=202,
    summary="Send a made-up event",
    responses=errors(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
async def send_test(
    request: Request, caller: Caller, id: ResourceId, body: SendTest = _ANY_TEST
) -> QueuedAnswer:
    """Send a made-up event, with ``test: true`` in it; also to a webhook that is switched off."""
    queued = await services_of(request).deliveries.test(caller.owner_id, id, body.event)
    return queued_answer(queued)


@router.post(
    "/api/webhooks/{id}/replay",
    status_code=202,
    summary="Send past events again",
    responses=errors(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
async def replay(request: Request, caller: Caller, id: ResourceId, body: Replay) -> ReplayAnswer:
    """Send the events of a time again, with their ids and ``replay: true``; at most 5,000."""
    from_ms, to_ms = map(to_unix_ms, (body.from_, body.to))
    # Any date-time of ISO 8601 may be asked for; nothing is stored from beyond these.
    from_ms, to_ms = (min(max(ms, 0), LAST_STORABLE_MS) for ms in (from_ms, to_ms))
    if from_ms >= to_ms:
        raise invalid_field("to", "must be after from")
    count = await services_of(request).deliveries.replay(caller.owner_id, id, from_ms, to_ms)
    return ReplayAnswer(queued=count)


@router.post(
    "/api/webhooks/{id}/rotate-secret",
    summary="Give a webhook a new secret",
    responses=errors(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
async def rotate_secret(
    request: Request,
    response: Response,
    caller: Caller,
    id: ResourceId,
    body: RotateSecret = _NEW_SECRET,
) -> WebhookAnswer:
    """Make a new secret; for ``overlapHours`` the old one signs as well."""
    secret = body.secret or new_signing_secret()
    overlap = timedelta(hours=body.overlap_hours)
    row = await services_of(request).webhooks.rotate_secret(caller.owner_id, id, secret, overlap)
    return WebhookAnswer(webhook=webhook_body(row))
