"""``/api/alertas/{id}/deliveries``: what became of an alert's own notifications."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from api.answers import BODY_ERRORS, errors
from api.errors import ErrorCode
from api.guard import Caller, GuardedRoute
from api.ids import DeliveryId, ResourceId
from api.services import services_of
from api.webhooks.delivery_schemas import (
    NO_BODY,
    DeliveryList,
    DeliveryQuery,
    QueuedAnswer,
    Redeliver,
    delivery_body,
    queued_answer,
)

router = APIRouter(route_class=GuardedRoute, tags=["Alerts"])


@router.get(
    "/api/alertas/{id}/deliveries",
    summary="List notifications of an alert",
    responses=errors(ErrorCode.INVALID_REQUEST, ErrorCode.NOT_FOUND),
)
async def list_notifications(
    request: Request, caller: Caller, id: ResourceId, query: Annotated[DeliveryQuery, Query()]
) -> DeliveryList:
    """Return what the alert's ``notifications`` gave in the last seven days, or from ``from`` on.

    The latest tried first; they are kept for three months. What webhooks are told of the alert is
    listed with the webhooks.
    """
    deliveries = services_of(request).alert_deliveries
    found = await deliveries.latest(caller.owner_id, id, query)
    return DeliveryList(deliveries=[delivery_body(summary) for summary in found])


@router.post(
    "/api/alertas/{id}/deliveries/{deliveryId}/redeliver",
    status_code=202,
    summary="Send a notification again",
    responses=errors(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
async def redeliver_notification(
    request: Request,
    caller: Caller,
    id: ResourceId,
    delivery_id: DeliveryId,
    body: Redeliver = NO_BODY,
) -> QueuedAnswer:
    """Send a notification again to where it was to go, with the same ids.

    No body is needed; an empty object will do as well.
    """
    deliveries = services_of(request).alert_deliveries
    return queued_answer(await deliveries.redeliver(caller.owner_id, id, delivery_id))
