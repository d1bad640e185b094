"""``/api/analytics``."""

from fastapi import APIRouter, Request

from api.analytics.schemas import AnalyticsBody, analytics_body
from api.answers import errors
from api.guard import Caller, GuardedRoute
from api.services import services_of

router = APIRouter(route_class=GuardedRoute, tags=["Analytics"])


@router.get("/api/analytics", summary="The last 30 days at a glance", responses=errors())
async def get_analytics(request: Request, caller: Caller) -> AnalyticsBody:
    """Return counts over the last 30 × 24 hours, in days and hours of the account's time zone."""
    return analytics_body(await services_of(request).analytics.overview(caller.owner_id))
