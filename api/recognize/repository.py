"""Stores responses to calls with an ``Idempotency-Key`` in PostgreSQL."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from api.accounts.repository import OwnerNotFoundError, require_owner
from api.db.tables import IdempotencyKey

RETENTION = timedelta(hours=24)


@dataclass(frozen=True)
class IdempotentCall:
    """A call that is run only once, identified by the caller's key and a hash of the call."""

    key: str
    fingerprint: bytes


@dataclass(frozen=True)
class Claim:
    """A claimed key. ``attempt`` distinguishes the claim from later claims of the same key."""

    owner_id: UUID
    key: str
    attempt: UUID


@dataclass(frozen=True)
class EarlierCall:
    """An earlier call with the same key. ``answer`` is None while the call is running."""

    fingerprint: bytes
    answer: bytes | None


def claim(
    session: Session, owner_id: UUID, call: IdempotentCall, now: datetime, lease: timedelta
) -> Claim | EarlierCall:
    """Claim the key, or return the earlier call with the same key.

    A claim without an answer expires after ``lease``, because the call must have crashed.

    Raises:
        OwnerNotFoundError: the account has been removed.
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
        # The table's only foreign key refers to the account.
        raise OwnerNotFoundError from error
    if claimed is not None:
        return Claim(owner_id, call.key, attempt)
    row = session.execute(
        select(table.fingerprint, table.answer).where(
            table.owner_id == owner_id, table.key == call.key
        )
    ).one_or_none()
    if row is None:
        # The earlier claim was just dropped: the next attempt can claim the key.
        require_owner(session, owner_id)
        return EarlierCall(call.fingerprint, None)
    return EarlierCall(row.fingerprint, row.answer)


def store_answer(session: Session, claimed: Claim, answer: bytes, now: datetime) -> None:
    """Store the answer for 24 h. Do nothing if the claim expired and another call has the key."""
    session.execute(
        update(IdempotencyKey)
        .where(*_own(claimed))
        .values(answer=answer, expires_at=now + RETENTION)
    )


def drop(session: Session, claimed: Claim) -> None:
    """Release the key, unless an answer is stored, so that the caller can retry with the key."""
    session.execute(delete(IdempotencyKey).where(*_own(claimed), IdempotencyKey.answer.is_(None)))


def delete_expired(session: Session, now: datetime) -> int:
    """Delete expired keys, and return their number."""
    deleted = session.scalars(
        delete(IdempotencyKey)
        .where(IdempotencyKey.expires_at <= now)
        .returning(IdempotencyKey.attempt)
    )
    return len(deleted.all())


def _own(claimed: Claim) -> tuple[ColumnElement[bool], ...]:
    table = IdempotencyKey
    return (
        table.owner_id == claimed.owner_id,
        table.key == claimed.key,
        table.attempt == claimed.attempt,
    )
