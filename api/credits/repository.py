"""The ledger in PostgreSQL.

``balance`` is always the sum of the ledger's rows; ``balance - reserved`` is what a new call may
still take. Both follow from one row lock for each owner, so no concurrency overspends.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from api.credits.models import EntryKind, LedgerEntry, Reservation
from api.db.tables import CreditAccount, CreditEntry, CreditReservation


def balance(session: Session, owner_id: UUID) -> int:
    """Return the owner's balance in credits."""
    found = session.scalar(select(CreditAccount.balance).where(CreditAccount.owner_id == owner_id))
    return found or 0


def latest_entries(session: Session, owner_id: UUID, limit: int) -> list[LedgerEntry]:
    """Return the newest rows of the ledger, newest first."""
    rows = session.scalars(
        select(CreditEntry)
        .where(CreditEntry.owner_id == owner_id)
        .order_by(CreditEntry.id.desc())
        .limit(limit)
    )
    return [
        LedgerEntry(
            id=row.id,
            delta=row.delta,
            balance_after=row.balance_after,
            kind=EntryKind(row.kind),
            reason=row.reason,
            created_at=row.created_at,
        )
        for row in rows
    ]


def add_entry(
    session: Session, owner_id: UUID, *, delta: int, kind: EntryKind, reason: str
) -> int | None:
    """Add a row to the ledger and return the new balance; None where it does not cover it."""
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
    """Hold back ``amount`` credits until ``expires_at``; None where too few are free."""
    account = CreditAccount
    held = session.scalar(
        update(account)
        .where(account.owner_id == owner_id, account.balance - account.reserved >= amount)
        .values(reserved=account.reserved + amount)
        .returning(account.owner_id)
    )
    if held is None:
        return None
    row = CreditReservation(owner_id=owner_id, amount=amount, expires_at=expires_at)
    session.add(row)
    session.flush()
    return Reservation(row.id, owner_id, amount)


def settle(session: Session, reservation: Reservation, reason: str) -> int | None:
    """Turn a reservation into a debit and return the balance after it.

    None where the sweeper has released it: nothing was taken then.
    """
    if not _take(session, reservation):
        return None
    account = CreditAccount
    after: int | None = session.scalar(
        update(account)
        .where(account.owner_id == reservation.owner_id)
        .values(
            balance=account.balance - reservation.amount,
            reserved=account.reserved - reservation.amount,
        )
        .returning(account.balance)
    )
    assert after is not None
    _insert_entry(
        session, reservation.owner_id, -reservation.amount, after, EntryKind.DEBIT, reason
    )
    return after


def release(session: Session, reservation: Reservation) -> None:
    """Give a reservation's credits back; harmless where that has happened already."""
    if _take(session, reservation):
        _give_back(session, reservation.owner_id, reservation.amount)


def release_expired(session: Session, now: datetime, limit: int = 100) -> int:
    """Give back what calls hold that died, and return how many there were."""
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
    # In one order everywhere, so that two sweepers cannot lock each other.
    for owner_id, amount in sorted(rows, key=lambda row: str(row[0])):
        _give_back(session, owner_id, amount)
    return len(rows)


def _take(session: Session, reservation: Reservation) -> bool:
    taken = session.scalar(
        delete(CreditReservation)
        .where(CreditReservation.id == reservation.id)
        .returning(CreditReservation.id)
    )
    return taken is not None


def _give_back(session: Session, owner_id: UUID, amount: int) -> None:
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
