"""JSON of the credits resource."""

from api.credits.models import EntryKind
from api.credits.service import Statement
from api.schemas import ResponseModel, Timestamp


class LedgerEntryBody(ResponseModel):
    """One change of the balance."""

    delta: int
    balance: int
    kind: EntryKind
    reason: str
    created_at: Timestamp


class CreditsBody(ResponseModel):
    """The balance, and the newest rows of the ledger, newest first."""

    credits: int
    ledger: list[LedgerEntryBody]


def credits_body(statement: Statement) -> CreditsBody:
    """Return the JSON form of a balance."""
    return CreditsBody(
        credits=statement.balance,
        ledger=[
            LedgerEntryBody(
                delta=entry.delta,
                balance=entry.balance_after,
                kind=entry.kind,
                reason=entry.reason,
                created_at=entry.created_at,
            )
            for entry in statement.entries
        ],
    )
