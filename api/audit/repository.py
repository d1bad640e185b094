"""The audit log as it is read from PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, or_, select, tuple_
from sqlalchemy.dialects.postgresql import array
from sqlalchemy.orm import Session

from api.db.audit_tables import AuditEntry
from api.trail.plates import HASHES


@dataclass(frozen=True)
class AuditFilter:
    """The entries of an owner that are asked for; None asks for no such thing.

    ``action`` may be its first word alone; ``actor`` is an id, an e-mail address or the name of a
    key, ``subject`` the id of what was acted on, ``plate`` a whole plate in any spelling.
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
    """Return entries, newest first, after the time and ID ``after``.

    ``plate_hashes`` are those of the wanted plate, if there is one.
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
