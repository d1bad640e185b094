"""Routes of ``/api/credits``."""

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
    """A transaction in the credit ledger."""

    delta: int = Field(description="Credits added, or deducted (negative).", examples=[-1])
    balance: int = Field(
        validation_alias="balance_after", ge=0, description="Balance afterwards.", examples=[9999]
    )
    kind: EntryKind = Field(description="Transaction type: grant, charge (`debit`) or refund.")
    reason: str = Field(description="Human-readable reason.", examples=["image call"])
    created_at: Timestamp = Field(description="Time of the transaction (UTC).")


class CreditsBody(ResponseModel):
    """The credit balance and the most recent transactions, newest first."""

    credits: int = Field(ge=0, description="Balance in credits.", examples=[9999])
    ledger: list[LedgerEntryBody] = Field(description="Most recent transactions, newest first.")


router = APIRouter(route_class=GuardedRoute, tags=["Credits"])

CreditsDep = Annotated[Credits, Depends(service(Credits))]


@router.get("/api/credits", summary="Get the credit balance", responses=error_responses())
@requires(Scope.CREDITS_READ)
async def get_credits(credits: CreditsDep, caller: Caller) -> CreditsBody:
    """Returns the credit balance and the most recent transactions."""
    balance, entries = await credits.statement(caller.owner_id)
    return CreditsBody(credits=balance, ledger=list(map(LedgerEntryBody.model_validate, entries)))
