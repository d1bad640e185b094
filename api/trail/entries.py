"""Entries of the audit log in PostgreSQL: written, and deleted in two ways.

Changes of rows need none of this: triggers write their entries (migration 0001). They
also reject every other change of the log, by this process too.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from api.db.actors import SERVICE, Actor, current_actor
from api.db.audit_tables import AuditEntry
from api.db.tables import Owner
from api.security.actions import Action

_WAY = "platestream.audit_way"
_BATCH = 5_000


@dataclass(frozen=True)
class ActSubject:
    """The thing that an act is about, under the name that it had."""

    kind: str
    id: UUID | None = None
    name: str | None = None


@dataclass(frozen=True)
class Act:
    """Something that somebody did or asked."""

    owner_id: UUID
    action: Action
    actor: Actor
    subject: ActSubject | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: UUID = field(default_factory=uuid4)


def act_in_hand(
    owner_id: UUID, action: Action, subject: ActSubject | None = None, **parameters: Any
) -> Act:
    """Return an act of who makes the request in hand; outside of any the service's."""
    return Act(owner_id, action, current_actor() or SERVICE, subject, parameters)


def write_acts(session: Session, acts: Collection[Act]) -> None:
    """Write entries of acts of accounts that are there, each once however often it is tried."""
    owners = {act.owner_id for act in acts}
    there = set(
        session.scalars(
            select(Owner.id).where(Owner.id.in_(owners)).with_for_update(read=True, key_share=True)
        )
    )
    rows = [_row(act) for act in acts if act.owner_id in there]
    if rows:
        session.execute(insert(AuditEntry).on_conflict_do_nothing(), rows)


def drop_entries(session: Session, before: datetime) -> int:
    """Delete some thousands of the entries from before a moment; return how many."""
    old = select(AuditEntry.id).where(AuditEntry.at < before).order_by(AuditEntry.at).limit(_BATCH)
    with _way(session, "retention"):
        gone = delete(AuditEntry).where(AuditEntry.id.in_(old)).returning(AuditEntry.id)
        return len(session.scalars(gone).all())


def forget_account(session: Session, owner_id: UUID) -> None:
    """Delete all entries of an account that is removed."""
    with _way(session, "account"):
        session.execute(delete(AuditEntry).where(AuditEntry.owner_id == owner_id))


@contextmanager
def _way(session: Session, name: str) -> Iterator[None]:
    """Let the trigger pass what goes this way, within the block."""
    session.execute(select(func.set_config(_WAY, name, True)))
    yield
    session.execute(select(func.set_config(_WAY, "", True)))


def _row(act: Act) -> dict[str, Any]:
    actor, subject = act.actor, act.subject
    return {
        "id": act.id,
        "owner_id": act.owner_id,
        "at": act.at,
        "action": act.action.value,
        "actor_kind": actor.kind.value,
        "actor_id": actor.id,
        "actor_name": actor.name,
        "actor_prefix": actor.prefix,
        "subject_kind": None if subject is None else subject.kind,
        "subject_id": None if subject is None else subject.id,
        "subject_name": None if subject is None else subject.name,
        "parameters": dict(act.parameters),
        "address": actor.address,
        "request_id": actor.request_id,
    }
