"""Reads and writes the credit ledger in PostgreSQL.

``balance`` is always the sum of the ledger's entries; ``balance - reserved`` is available to new
calls. One row lock per account protects both values, so that concurrent calls cannot overspend.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, cast
from uuid import UUID, uuid4

from sqlalchemy import Table, bindparam, delete, func, insert, literal, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningInsert

from api.db.tables import CreditAccount, CreditEntry, CreditReservation


class EntryKind(StrEnum):
    """Types of ledger transaction."""

    GRANT = "grant"
    DEBIT = "debit"
    REFUND = "refund"


@dataclass(frozen=True)
class Reservation:
    """Credits reserved for a running call."""

    id: UUID
    owner_id: UUID
    amount: int


# An image call reserves credits with one statement and settles them with another. Both statements
# use tables, because mapped classes tripled the CPU time of a call (12.2 ms instead of 4.0 ms).
_ACCOUNTS = cast(Table, CreditAccount.__table__).c
_RESERVATIONS = cast(Table, CreditReservation.__table__)
_ENTRIES = cast(Table, CreditEntry.__table__)


def _reserve_statement() -> ReturningInsert[Any]:
    """Return the statement that reserves ``amount`` credits of ``owner`` as reservation ``id``."""
    amount = bindparam("amount", type_=_ACCOUNTS.reserved.type)
    held = (
        update(_ACCOUNTS.balance.table)
        .where(_ACCOUNTS.owner_id == bindparam("owner"))
        .where(_ACCOUNTS.balance - _ACCOUNTS.reserved >= amount)
        .values(reserved=_ACCOUNTS.reserved + amount)
        .returning(_ACCOUNTS.owner_id)
        .cte("held")
    )
    columns = _RESERVATIONS.c
    row = select(
        bindparam("id", type_=columns.id.type),
        held.c.owner_id,
        amount,
        bindparam("expires_at", type_=columns.expires_at.type),
    )
    names = ["id", "owner_id", "amount", "expires_at"]
    return insert(_RESERVATIONS).from_select(names, row).returning(columns.id)


def _settle_statement() -> ReturningInsert[Any]:
    """Return the statement that turns the reservation ``id`` into a debit for ``reason``."""
    columns = _RESERVATIONS.c
    taken = (
        delete(_RESERVATIONS)
        .where(columns.id == bindparam("id"))
        .returning(columns.owner_id, columns.amount)
        .cte("taken")
    )
    account = (
        update(_ACCOUNTS.balance.table)
        .where(_ACCOUNTS.owner_id == taken.c.owner_id)
        .values(
            balance=_ACCOUNTS.balance - taken.c.amount,
            reserved=_ACCOUNTS.reserved - taken.c.amount,
        )
        .returning(_ACCOUNTS.owner_id, taken.c.amount, _ACCOUNTS.balance)
        .cte("account")
    )
    row = select(
        account.c.owner_id,
        -account.c.amount,
        account.c.balance,
        literal(EntryKind.DEBIT.value),
        bindparam("reason", type_=_ENTRIES.c.reason.type),
    )
    names = ["owner_id", "delta", "balance_after", "kind", "reason"]
    return insert(_ENTRIES).from_select(names, row).returning(_ENTRIES.c.balance_after)


_RESERVE, _SETTLE = _reserve_statement(), _settle_statement()


def balance(session: Session, owner_id: UUID) -> int:
    """Return an account's balance in credits."""
    found = session.scalar(select(CreditAccount.balance).where(CreditAccount.owner_id == owner_id))
    return found or 0


def list_entries(session: Session, owner_id: UUID, limit: int) -> Sequence[CreditEntry]:
    """Return the ``limit`` newest entries of an account's ledger, newest first."""
    entries = select(CreditEntry).where(CreditEntry.owner_id == owner_id)
    return session.scalars(entries.order_by(CreditEntry.id.desc()).limit(limit)).all()


def count_entries(session: Session, owner_id: UUID) -> int:
    """Return the number of entries in an account's ledger."""
    owned = select(func.count()).select_from(CreditEntry).where(CreditEntry.owner_id == owner_id)
    return session.scalar(owned) or 0


def insert_entry(
    session: Session, owner_id: UUID, *, delta: int, kind: EntryKind, reason: str
) -> int | None:
    """Add a ledger entry and return the new balance, or None if the balance is too low."""
    account = CreditAccount
    after = session.scalar(
        update(account)
        .where(account.owner_id == owner_id, account.balance + delta >= account.reserved)
        .values(balance=account.balance + delta)
        .returning(account.balance)
    )
    if after is not None:
        _insert_entry(session, owner_id, delta, after, kind, reason)
    return after


def reserve(
    session: Session, owner_id: UUID, amount: int, expires_at: datetime
) -> Reservation | None:
    """Reserve ``amount`` credits until ``expires_at``. Return None if the balance is too low."""
    values = {"id": uuid4(), "owner": owner_id, "amount": amount, "expires_at": expires_at}
    held: UUID | None = session.scalar(_RESERVE, values)
    return None if held is None else Reservation(held, owner_id, amount)


def settle(session: Session, reservation: Reservation, reason: str) -> int | None:
    """Turn a reservation into a debit and return the new balance.

    If the reservation has expired and was released, debit nothing and return None.
    """
    after: int | None = session.scalar(_SETTLE, {"id": reservation.id, "reason": reason})
    return after


def release(session: Session, reservation: Reservation) -> bool:
    """Release a reservation's credits, and return whether the reservation still existed.

    Do nothing if the credits have already been released or debited.
    """
    held = _delete(session, reservation)
    if held:
        _return_credits(session, reservation.owner_id, reservation.amount)
    return held


def release_expired(session: Session, now: datetime, limit: int = 100) -> int:
    """Release expired reservations, which belong to crashed calls, and return their number."""
    expired = (
        select(CreditReservation.id)
        .where(CreditReservation.expires_at < now)
        .order_by(CreditReservation.owner_id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    rows = session.execute(
        delete(CreditReservation)
        .where(CreditReservation.id.in_(expired))
        .returning(CreditReservation.owner_id, CreditReservation.amount)
    ).all()
    # Accounts are always updated in the same order, so that two sweeps cannot deadlock.
    for owner_id, amount in sorted(rows, key=lambda row: str(row[0])):
        _return_credits(session, owner_id, amount)
    return len(rows)


def _delete(session: Session, reservation: Reservation) -> bool:
    taken = session.scalar(
        delete(CreditReservation)
        .where(CreditReservation.id == reservation.id)
        .returning(CreditReservation.id)
    )
    return taken is not None


def _return_credits(session: Session, owner_id: UUID, amount: int) -> None:
    session.execute(
        update(CreditAccount)
        .where(CreditAccount.owner_id == owner_id)
        .values(reserved=CreditAccount.reserved - amount)
    )


def _insert_entry(
    session: Session, owner_id: UUID, delta: int, after: int, kind: EntryKind, reason: str
) -> None:
    session.execute(
        insert(CreditEntry).values(
            owner_id=owner_id, delta=delta, balance_after=after, kind=kind.value, reason=reason
        )
    )
