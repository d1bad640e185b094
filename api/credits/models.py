"""Rows of the ledger as the rest of the service sees them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class EntryKind(StrEnum):
    """What a row of the ledger stands for."""

    GRANT = "grant"
    DEBIT = "debit"
    REFUND = "refund"


@dataclass(frozen=True)
class LedgerEntry:
    """One change of a balance, in credits."""

    id: int
    delta: int
    balance_after: int
    kind: EntryKind
    reason: str
    created_at: datetime


@dataclass(frozen=True)
class Reservation:
    """Credits held back for a call in flight."""

    id: UUID
    owner_id: UUID
    amount: int
