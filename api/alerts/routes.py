"""Routes of ``/api/alertas``, and the explanation of alert outcomes."""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from api.actors import Action
from api.alerts.insight import AlertInsight
from api.alerts.insight_schemas import (
    AlertTest,
    AlertTestResult,
    AlertTriggerList,
    ExplanationList,
    TriggerQuery,
    explained_body,
    test_result,
    trigger_list,
)
from api.alerts.repository import AlertRow
from api.alerts.schemas import (
    AlertAnswer,
    AlertCreate,
    AlertList,
    AlertUpdate,
    NotificationSecretAnswer,
    alert_body,
    alert_list,
)
from api.alerts.service import Alerts
from api.deps import Caller, ResourceId, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import BODY_ERRORS, error_responses
from api.paging.lists import CursorsDep, ListFilter, ListQuery, page_of
from api.recognitions.service import Recognitions
from api.security.credentials import new_signing_secret
from api.security.permissions import BodyKind, Principal, Scope, requires
from api.signing_secrets import RotateSecret

router = APIRouter(route_class=GuardedRoute, tags=["Alerts"])

AlertsDep = Annotated[Alerts, Depends(service(Alerts))]
InsightDep = Annotated[AlertInsight, Depends(service(AlertInsight))]
RecognitionsDep = Annotated[Recognitions, Depends(service(Recognitions))]

_NEW_SECRET = RotateSecret()
"""The default body, for requests without a body."""


@router.get(
    "/api/alertas",
    summary="List alerts",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
@requires(Scope.ALERTS_READ)
async def list_alerts(
    alerts: AlertsDep, cursors: CursorsDep, caller: Caller, query: Annotated[ListQuery, Query()]
) -> AlertList:
    """Returns the account's alerts, newest first, or a page if `limit` or `lastKey` is set.

    Without the scope `webhooks:read`, notification URLs are reduced to scheme and host, and the
    notification secret is null.
    """
    listing = await alerts.list_all(caller.owner_id)
    wanted = ListFilter("alertas", caller.owner_id)
    page, next_key = page_of(listing.alerts, query, wanted, cursors, lambda row: row)
    listing = replace(listing, alerts=tuple(page))
    return alert_list(listing, next_key, shows_secrets=caller.sees_secrets)


@router.post(
    "/api/alertas",
    status_code=201,
    summary="Create an alert",
    responses=error_responses(*BODY_ERRORS, ErrorCode.LIMIT_REACHED),
)
@requires(Scope.ALERTS_WRITE, BodyKind.JSON)
async def create_alert(alerts: AlertsDep, caller: Caller, body: AlertCreate) -> AlertAnswer:
    """Creates an alert. URLs must be on the public internet or in an allowed network."""
    row = await alerts.create(caller, body)
    return _answer(caller, row)


@router.get(
    "/api/alertas/{id}", summary="Get an alert", responses=error_responses(ErrorCode.NOT_FOUND)
)
@requires(Scope.ALERTS_READ)
async def get_alert(alerts: AlertsDep, caller: Caller, id: ResourceId) -> AlertAnswer:
    """Returns an alert."""
    return _answer(caller, await alerts.get(caller.owner_id, id))


@router.put(
    "/api/alertas/{id}",
    summary="Update an alert",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Scope.ALERTS_WRITE, BodyKind.JSON)
async def update_alert(
    alerts: AlertsDep, caller: Caller, id: ResourceId, body: AlertUpdate
) -> AlertAnswer:
    """Updates the fields that are sent. Others, including those of `schedule`, keep their values.

    If a URL that was returned as scheme and host only is sent back, the stored URL does not change.
    """
    return _answer(caller, await alerts.update(caller, id, body))


@router.delete(
    "/api/alertas/{id}",
    status_code=204,
    response_class=Response,
    summary="Delete an alert",
    responses=error_responses(ErrorCode.NOT_FOUND),
)
@requires(Scope.ALERTS_WRITE)
async def delete_alert(alerts: AlertsDep, caller: Caller, id: ResourceId) -> None:
    """Deletes an alert. A deleted alert no longer triggers."""
    await alerts.delete(caller.owner_id, id)


@router.get(
    "/api/alertas/{id}/triggers",
    summary="List triggers of an alert",
    responses=error_responses(
        ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR, ErrorCode.NOT_FOUND
    ),
)
@requires(
    Scope.RECOGNITIONS_READ,
    also=frozenset({Scope.ALERTS_READ}),
    audit=Action.ALERT_TRIGGERS_VIEWED,
)
async def list_triggers(
    insight: InsightDep,
    cursors: CursorsDep,
    caller: Caller,
    id: ResourceId,
    query: Annotated[TriggerQuery, Query()],
) -> AlertTriggerList:
    """Returns the triggers of an alert, newest first. Withdrawn triggers are not included."""
    wanted = ListFilter(f"alertas/{id}/triggers", caller.owner_id)
    after = query.after(wanted, cursors)
    alert, page = await insight.list_triggers(caller.owner_id, id, after, query.limit)
    return trigger_list(alert, page, wanted, cursors)


@router.get(
    "/api/recognitions/{id}/alerts",
    summary="Explain alert outcomes",
    responses=error_responses(ErrorCode.NOT_FOUND),
)
# The response contains data of alerts, but not of the recognition.
@requires(Scope.ALERTS_READ)
async def explain_alerts(
    insight: InsightDep, recognitions: RecognitionsDep, caller: Caller, id: ResourceId
) -> ExplanationList:
    """Returns whether the recognition triggered each alert, and why or why not."""
    recognition = await recognitions.require(caller.owner_id, id)
    found = await insight.explain(recognition)
    return ExplanationList(alerts=[explained_body(each, recognition.plate) for each in found])


@router.post(
    "/api/alertas/test",
    summary="Test an alert",
    responses=error_responses(*BODY_ERRORS, ErrorCode.LIMIT_REACHED),
)
# The response contains recognitions. The alert is part of the request.
@requires(Scope.RECOGNITIONS_READ, BodyKind.JSON, audit=Action.ALERT_TRIED)
async def test_alert(insight: InsightDep, caller: Caller, body: AlertTest) -> AlertTestResult:
    """Returns the recognitions that would have triggered an alert. Nothing is stored or sent."""
    return test_result(await insight.test(caller.owner_id, body.alert, body.backtest()))


@router.post(
    "/api/alertas/rotate-notification-secret",
    summary="Rotate the notification secret",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
# The response contains the secret.
@requires(
    Scope.ALERTS_WRITE,
    BodyKind.JSON,
    body_optional=True,
    also=frozenset({Scope.WEBHOOKS_READ}),
)
async def rotate_notification_secret(
    alerts: AlertsDep, caller: Caller, body: RotateSecret = _NEW_SECRET
) -> NotificationSecretAnswer:
    """Replaces the secret that signs alert notifications sent to URLs.

    The previous secret also signs for `overlapHours`.
    """
    secret = body.secret or new_signing_secret()
    until = await alerts.rotate_secret(caller.owner_id, secret, timedelta(hours=body.overlap_hours))
    return NotificationSecretAnswer(
        notification_secret=secret, previous_notification_secret_until=until
    )


def _answer(caller: Principal, row: AlertRow) -> AlertAnswer:
    return AlertAnswer(alert=alert_body(row, shows_urls=caller.sees_secrets))
