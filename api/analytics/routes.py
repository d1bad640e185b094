"""Routes of ``/api/analytics``."""

from typing import Annotated

from fastapi import APIRouter, Depends

from api.actors import Action
from api.analytics.schemas import AnalyticsBody
from api.analytics.service import Analytics
from api.deps import Caller, service
from api.middleware.guard import GuardedRoute
from api.openapi import error_responses
from api.security.permissions import Scope, requires

router = APIRouter(route_class=GuardedRoute, tags=["Analytics"])

AnalyticsDep = Annotated[Analytics, Depends(service(Analytics))]


@router.get("/api/analytics", summary="Get analytics", responses=error_responses())
@requires(Scope.ANALYTICS_READ, audit=Action.ANALYTICS_VIEWED)
async def get_analytics(analytics: AnalyticsDep, caller: Caller) -> AnalyticsBody:
    """Returns statistics for the last 30 × 24 hours, by day and hour in the account's time zone."""
    return await analytics.get_overview(caller.owner_id)
