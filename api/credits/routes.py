"""``/api/credits``."""

from fastapi import APIRouter, Request

from api.answers import errors
from api.credits.schemas import CreditsBody, credits_body
from api.guard import Caller, GuardedRoute
from api.services import services_of

router = APIRouter(route_class=GuardedRoute, tags=["Credits"])


@router.get("/api/credits", summary="Balance of credits", responses=errors())
async def get_credits(request: Request, caller: Caller) -> CreditsBody:
    """Return the caller's balance and the newest rows of the ledger."""
    return credits_body(await services_of(request).credits.statement(caller.owner_id))
