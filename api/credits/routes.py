"""``/api/credits``."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field

from api.credits.repository import EntryKind
from api.credits.service import Credits
from api.deps import Caller, service
from api.middleware.guard import GuardedRoute
from api.openapi import error_responses
from api.schemas import ResponseModel, Timestamp
from api.security.permissions import Scope, requires


class LedgerEntryBody(ResponseModel):
    """One change of the balance."""

    delta: int = Field(description="Credits that came (positive) or went.", examples=[-1])
    balance: int = Field(
        validation_alias="balance_after", ge=0, description="Credits after it.", examples=[9999]
    )
    kind: EntryKind = Field(description="Granted, taken or given back.")
    reason: str = Field(description="The cause, in words.", examples=["image call"])
    created_at: Timestamp = Field(description="When it was booked; UTC.")


class CreditsBody(ResponseModel):
    """The balance, and the newest rows of the ledger, newest first."""

    credits: int = Field(ge=0, description="Credits that are left.", examples=[9999])
    ledger: list[LedgerEntryBody] = Field(description="The latest changes, newest first.")


router = APIRouter(route_class=GuardedRoute, tags=["Credits"])

CreditsDep = Annotated[Credits, Depends(service(Credits))]


@router.get("/api/credits", summary="Balance of credits", responses=error_responses())
@requires(Scope.CREDITS_READ)
async def get_credits(credits: CreditsDep, caller: Caller) -> CreditsBody:
    """Return the caller's balance and the newest rows of the ledger."""
    balance, entries = await credits.statement(caller.owner_id)
    return CreditsBody(credits=balance, ledger=list(map(LedgerEntryBody.model_validate, entries)))
