"""Reads and writes the audit log in PostgreSQL.

Database triggers write entries for changed rows, and reject changes to entries, even by this
process. Deletions are accepted in two modes: ``retention`` and ``account``.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, delete, func, or_, select, tuple_
from sqlalchemy.dialects.postgresql import array, insert
from sqlalchemy.orm import Session

from api.audit.actions import AuditAction
from api.audit.plates import HASHES
from api.audit.tables import AuditEntry
from api.db.tables import Owner

_DELETE_MODE = "platestream.audit_way"
_BATCH = 5_000


@dataclass(frozen=True)
class AuditFilter:
    """A filter for an account's entries. A field that is None matches all entries.

    ``action`` is an action or its first part. ``actor`` is an ID, an email address or the name of
    an API key. ``subject`` is the ID of a resource. ``plate`` is a complete plate in any spelling.
    """

    owner_id: UUID
    since: datetime | None = None
    until: datetime | None = None
    action: str | None = None
    actor: str | None = None
    subject: UUID | None = None
    plate: str | None = None


def list_entries(
    session: Session,
    wanted: AuditFilter,
    plate_hashes: Sequence[str],
    after: tuple[datetime, UUID] | None,
    limit: int,
) -> Sequence[AuditEntry]:
    """Return entries, newest first, starting after the time and ID ``after``.

    ``plate_hashes`` are the hashes of the filter's plate, if the filter has a plate.
    """
    found = _conditions(select(AuditEntry), wanted)
    if wanted.plate is not None:
        found = found.where(AuditEntry.parameters[HASHES].has_any(array(plate_hashes)))
    if after is not None:
        found = found.where(tuple_(AuditEntry.at, AuditEntry.id) < after)
    newest = found.order_by(AuditEntry.at.desc(), AuditEntry.id.desc())
    return session.scalars(newest.limit(limit)).all()


def _conditions(found: Select[AuditEntry], wanted: AuditFilter) -> Select[AuditEntry]:
    found = found.where(AuditEntry.owner_id == wanted.owner_id)
    if wanted.since is not None:
        found = found.where(AuditEntry.at >= wanted.since)
    if wanted.until is not None:
        found = found.where(AuditEntry.at < wanted.until)
    if (action := wanted.action) is not None:
        kind = AuditEntry.action.startswith(f"{action}.", autoescape=True)
        found = found.where(or_(AuditEntry.action == action, kind))
    if wanted.actor is not None:
        found = found.where(_is_actor(wanted.actor))
    if wanted.subject is not None:
        found = found.where(AuditEntry.subject_id == wanted.subject)
    return found


def _is_actor(text: str) -> ColumnElement[bool]:
    try:
        return AuditEntry.actor_id == UUID(text)
    except ValueError:
        return func.lower(AuditEntry.actor_name) == text.lower()


def write_actions(session: Session, actions: Collection[AuditAction]) -> None:
    """Write entries for actions in existing accounts. A repeated call adds no duplicates."""
    owners = {action.owner_id for action in actions}
    existing = set(
        session.scalars(
            select(Owner.id).where(Owner.id.in_(owners)).with_for_update(read=True, key_share=True)
        )
    )
    rows = [_row(action) for action in actions if action.owner_id in existing]
    if rows:
        session.execute(insert(AuditEntry).on_conflict_do_nothing(), rows)


def delete_expired_entries(session: Session, before: datetime) -> int:
    """Delete up to 5,000 entries older than ``before``, and return their number."""
    old = select(AuditEntry.id).where(AuditEntry.at < before).order_by(AuditEntry.at).limit(_BATCH)
    with _delete_mode(session, "retention"):
        deletion = delete(AuditEntry).where(AuditEntry.id.in_(old)).returning(AuditEntry.id)
        return len(session.scalars(deletion).all())


def delete_account_entries(session: Session, owner_id: UUID) -> None:
    """Delete all entries of an account."""
    with _delete_mode(session, "account"):
        session.execute(delete(AuditEntry).where(AuditEntry.owner_id == owner_id))


@contextmanager
def _delete_mode(session: Session, name: str) -> Iterator[None]:
    """Make the database trigger accept deletions in this mode within the block."""
    session.execute(select(func.set_config(_DELETE_MODE, name, True)))
    yield
    session.execute(select(func.set_config(_DELETE_MODE, "", True)))


def _row(action: AuditAction) -> dict[str, Any]:
    actor, subject = action.actor, action.subject
    return {
        "id": action.id,
        "owner_id": action.owner_id,
        "at": action.at,
        "action": action.action.value,
        "actor_kind": actor.kind.value,
        "actor_id": actor.id,
        "actor_name": actor.name,
        "actor_prefix": actor.prefix,
        "subject_kind": None if subject is None else subject.kind,
        "subject_id": None if subject is None else subject.id,
        "subject_name": None if subject is None else subject.name,
        "parameters": dict(action.parameters),
        "address": actor.address,
        "request_id": actor.request_id,
    }
