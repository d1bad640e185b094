"""Routes that list, test, redeliver and replay deliveries to webhooks and notifications."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from analytics_sql.rows import LAST_STORABLE_MS
from api.deliveries.schemas import (
    NO_BODY,
    DeliveryList,
    DeliveryQuery,
    NotificationTest,
    QueuedAnswer,
    QueuedList,
    RecognitionDeliveryList,
    Redeliver,
    Replay,
    ReplayAnswer,
    RowLimit,
    SendTest,
    delivery_body,
    queued_answer,
    queued_list,
    recognition_delivery_body,
)
from api.deliveries.service import Deliveries
from api.deps import Caller, DeliveryId, ResourceId, service
from api.errors import ErrorCode, invalid_field
from api.middleware.guard import GuardedRoute
from api.openapi import BODY_ERRORS, error_responses
from api.recognitions.service import Recognitions
from api.security.permissions import BodyKind, Scope, requires
from api.validation.fields import to_unix_ms

webhook_router = APIRouter(route_class=GuardedRoute, tags=["Webhooks"])
alert_router = APIRouter(route_class=GuardedRoute, tags=["Alerts"])
recognition_router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])

DeliveriesDep = Annotated[Deliveries, Depends(service(Deliveries))]
RecognitionsDep = Annotated[Recognitions, Depends(service(Recognitions))]
QueryDep = Annotated[DeliveryQuery, Query()]

_READS_PAST_EVENTS = frozenset({Scope.RECOGNITIONS_READ})
"""Required because a caller who changes the webhook's URL would receive the past events."""

_READS_TARGETS = frozenset({Scope.WEBHOOKS_READ, Scope.ALERTS_READ})
"""Required because a delivery contains the ID of its webhook or alert."""

_ANY_TEST = SendTest()
_FIRST_NOTIFICATION = NotificationTest()
"""The default values of request bodies."""


@webhook_router.get(
    "/api/webhooks/{id}/deliveries",
    summary="List deliveries of a webhook",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.NOT_FOUND),
)
@requires(Scope.WEBHOOKS_READ)
async def list_deliveries(
    deliveries: DeliveriesDep, caller: Caller, id: ResourceId, query: QueryDep
) -> DeliveryList:
    """Returns deliveries from the last seven days, or since `from`, most recently attempted first.

    Deliveries are stored for three months.
    """
    found = await deliveries.list_of_webhook(caller.owner_id, id, query)
    return DeliveryList(deliveries=[delivery_body(summary) for summary in found])


@webhook_router.post(
    "/api/webhooks/{id}/deliveries/{deliveryId}/redeliver",
    status_code=202,
    summary="Redeliver a delivery",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Scope.WEBHOOKS_WRITE, BodyKind.JSON, body_optional=True, also=_READS_PAST_EVENTS)
async def redeliver(
    deliveries: DeliveriesDep,
    caller: Caller,
    id: ResourceId,
    delivery_id: DeliveryId,
    body: Redeliver = NO_BODY,
) -> QueuedAnswer:
    """Sends a delivery again with the same IDs and a new retry schedule.

    Redelivering an alert event also requires the scope `alerts:read`. The request body is optional
    and can be an empty object.
    """
    return queued_answer(await deliveries.redeliver_to_webhook(caller, id, delivery_id))


@webhook_router.post(
    "/api/webhooks/{id}/test",
    status_code=202,
    summary="Send a test event",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Scope.WEBHOOKS_WRITE, BodyKind.JSON, body_optional=True)
async def send_test(
    deliveries: DeliveriesDep, caller: Caller, id: ResourceId, body: SendTest = _ANY_TEST
) -> QueuedAnswer:
    """Sends a test event with `test: true`. Also works for a disabled webhook."""
    return queued_answer(await deliveries.test_webhook(caller.owner_id, id, body.event))


@webhook_router.post(
    "/api/webhooks/{id}/replay",
    status_code=202,
    summary="Replay past events",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Scope.WEBHOOKS_WRITE, BodyKind.JSON, also=_READS_PAST_EVENTS)
async def replay(
    deliveries: DeliveriesDep, caller: Caller, id: ResourceId, body: Replay
) -> ReplayAnswer:
    """Resends up to 5,000 events from a time range with their original IDs and `replay: true`.

    If the webhook subscribes to alert events, the scope `alerts:read` is also required.
    """
    from_ms, to_ms = map(to_unix_ms, (body.from_, body.to))
    # A request can name any ISO 8601 date-time, but nothing is stored outside this range.
    from_ms, to_ms = (min(max(ms, 0), LAST_STORABLE_MS) for ms in (from_ms, to_ms))
    if from_ms >= to_ms:
        raise invalid_field("to", "must be later than `from`")
    return ReplayAnswer(queued=await deliveries.replay(caller, id, from_ms, to_ms))


@alert_router.get(
    "/api/alertas/{id}/deliveries",
    summary="List deliveries of an alert",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.NOT_FOUND),
)
@requires(Scope.ALERTS_READ)
async def list_notifications(
    deliveries: DeliveriesDep, caller: Caller, id: ResourceId, query: QueryDep
) -> DeliveryList:
    """Returns deliveries of the alert's `notifications` from the last seven days, or since `from`.

    The most recently attempted delivery comes first. Deliveries are stored for three months.
    Deliveries to webhooks are listed under each webhook.
    """
    found = await deliveries.list_of_alert(caller.owner_id, id, query)
    return DeliveryList(deliveries=[delivery_body(summary) for summary in found])


@alert_router.post(
    "/api/alertas/{id}/deliveries/{deliveryId}/redeliver",
    status_code=202,
    summary="Redeliver a notification",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(
    Scope.ALERTS_WRITE,
    BodyKind.JSON,
    body_optional=True,
    also=_READS_PAST_EVENTS | {Scope.ALERTS_READ},
)
async def redeliver_notification(
    deliveries: DeliveriesDep,
    caller: Caller,
    id: ResourceId,
    delivery_id: DeliveryId,
    body: Redeliver = NO_BODY,
) -> QueuedAnswer:
    """Sends a notification again to its original destination, with the same IDs.

    Also requires the scopes `alerts:read` and `recognitions:read`. The request body is optional and
    can be an empty object.
    """
    return queued_answer(await deliveries.redeliver_notification(caller.owner_id, id, delivery_id))


@alert_router.post(
    "/api/alertas/{id}/notifications/test",
    status_code=202,
    summary="Test a notification",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Scope.ALERTS_WRITE, BodyKind.JSON, body_optional=True)
async def test_notification(
    deliveries: DeliveriesDep,
    caller: Caller,
    id: ResourceId,
    body: NotificationTest = _FIRST_NOTIFICATION,
) -> QueuedList:
    """Sends a test plate to one of the alert's `notifications`, by default the first.

    The message is marked as a test. Also works for a disabled alert.
    """
    return queued_list(await deliveries.test_notification(caller.owner_id, id, body.notification))


@recognition_router.get(
    "/api/recognitions/{id}/deliveries",
    summary="List deliveries of a recognition",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.NOT_FOUND),
)
@requires(Scope.RECOGNITIONS_READ, also=_READS_TARGETS)
async def list_recognition_deliveries(
    deliveries: DeliveriesDep,
    recognitions: RecognitionsDep,
    caller: Caller,
    id: ResourceId,
    query: Annotated[RowLimit, Query()],
) -> RecognitionDeliveryList:
    """Returns the deliveries of a recognition and of its alerts, most recently attempted first.

    Deliveries are stored for three months.
    """
    recognition = await recognitions.require(caller.owner_id, id)
    found = await deliveries.list_of_recognition(recognition, query.limit)
    return RecognitionDeliveryList(deliveries=list(map(recognition_delivery_body, found)))
