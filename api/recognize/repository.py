"""First answers to calls with an ``Idempotency-Key``, in PostgreSQL."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from api.accounts.repository import OwnerNotFoundError, require_owner
from api.db.tables import IdempotencyKey

KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True)
class IdempotentCall:
    """A call that must not be done twice: the caller's key and a hash of what it asks."""

    key: str
    fingerprint: bytes


@dataclass(frozen=True)
class Claim:
    """The right to answer a call. ``attempt`` tells it from a later claim of the same key."""

    owner_id: UUID
    key: str
    attempt: UUID


@dataclass(frozen=True)
class EarlierCall:
    """An earlier call with the same key; no answer: it is still running."""

    fingerprint: bytes
    answer: bytes | None


def claim(
    session: Session, owner_id: UUID, call: IdempotentCall, now: datetime, lease: timedelta
) -> Claim | EarlierCall:
    """Claim the key, or return what an earlier call with it left.

    A claim that is neither answered nor dropped lapses after ``lease``, since its call has died.

    Raises:
        OwnerGoneError: the owner has been removed.
    """
    table = IdempotencyKey
    attempt = uuid4()
    wanted = (
        insert(table)
        .values(
            owner_id=owner_id,
            key=call.key,
            fingerprint=call.fingerprint,
            attempt=attempt,
            answer=None,
            expires_at=now + lease,
        )
        .on_conflict_do_update(
            index_elements=[table.owner_id, table.key],
            set_={
                "fingerprint": call.fingerprint,
                "attempt": attempt,
                "answer": None,
                "expires_at": now + lease,
            },
            where=table.expires_at <= now,
        )
        .returning(table.attempt)
    )
    try:
        claimed = session.scalar(wanted)
    except IntegrityError as error:
        # All that the table refers to is the owner.
        raise OwnerNotFoundError from error
    if claimed is not None:
        return Claim(owner_id, call.key, attempt)
    row = session.execute(
        select(table.fingerprint, table.answer).where(
            table.owner_id == owner_id, table.key == call.key
        )
    ).one_or_none()
    if row is None:
        # Dropped in this moment: whoever asks again claims it.
        require_owner(session, owner_id)
        return EarlierCall(call.fingerprint, None)
    return EarlierCall(row.fingerprint, row.answer)


def store_answer(session: Session, claimed: Claim, answer: bytes, now: datetime) -> None:
    """Keep the answer for 24 h. Does nothing where the claim has lapsed and is another's now."""
    session.execute(
        update(IdempotencyKey)
        .where(*_own(claimed))
        .values(answer=answer, expires_at=now + KEPT_FOR)
    )


def drop(session: Session, claimed: Claim) -> None:
    """Give the key back, so that the caller may try again with it."""
    session.execute(delete(IdempotencyKey).where(*_own(claimed), IdempotencyKey.answer.is_(None)))


def delete_expired(session: Session, now: datetime) -> int:
    """Forget what is older than 24 h, and return how many."""
    gone = session.scalars(
        delete(IdempotencyKey)
        .where(IdempotencyKey.expires_at <= now)
        .returning(IdempotencyKey.attempt)
    )
    return len(gone.all())


def _own(claimed: Claim) -> tuple[ColumnElement[bool], ...]:
    table = IdempotencyKey
    return (
        table.owner_id == claimed.owner_id,
        table.key == claimed.key,
        table.attempt == claimed.attempt,
    )
