"""Why alerts fired, and what one would have fired for."""

from fastapi import APIRouter, Request

from api.alerts.insight_schemas import (
    AlertTest,
    AlertTestResult,
    ExplanationList,
    explained_body,
    replay_body,
)
from api.answers import BODY_ERRORS, errors
from api.errors import ErrorCode
from api.guard import Caller, GuardedRoute
from api.ids import ResourceId
from api.services import services_of

router = APIRouter(route_class=GuardedRoute, tags=["Alerts"])


@router.get(
    "/api/recognitions/{id}/alerts",
    summary="Why alerts fired for a recognition, or did not",
    responses=errors(ErrorCode.NOT_FOUND),
)
async def explain_alerts(request: Request, caller: Caller, id: ResourceId) -> ExplanationList:
    """Say for each of the caller's alerts, as it is now, what came of the recognition."""
    services = services_of(request)
    recognition = await services.recognitions.require(caller.owner_id, id)
    found = await services.alert_insight.explain(recognition)
    return ExplanationList(alerts=[explained_body(each) for each in found])


@router.post(
    "/api/alertas/test",
    summary="Try an alert on what was recognised",
    responses=errors(*BODY_ERRORS),
)
async def test_alert(request: Request, caller: Caller, body: AlertTest) -> AlertTestResult:
    """Say what an alert would have fired for in a span of time. Nothing is kept or sent."""
    insight = services_of(request).alert_insight
    replay = await insight.replay(caller.owner_id, body.alert, body.backtest())
    return replay_body(replay)
