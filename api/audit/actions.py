"""Acts for the audit log. Changes of rows are not among them: triggers write their entries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from api.actors import SERVICE, Action, Actor, current_actor


@dataclass(frozen=True)
class ActionSubject:
    """The thing that an act is about, under the name that it had."""

    kind: str
    id: UUID | None = None
    name: str | None = None


@dataclass(frozen=True)
class AuditAction:
    """Something that somebody did or asked."""

    owner_id: UUID
    action: Action
    actor: Actor
    subject: ActionSubject | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: UUID = field(default_factory=uuid4)


def current_action(
    owner_id: UUID, action: Action, subject: ActionSubject | None = None, **parameters: Any
) -> AuditAction:
    """Return an act of who makes the request in hand; outside of any the service's."""
    return AuditAction(owner_id, action, current_actor() or SERVICE, subject, parameters)
