"""Defines the actions that the service itself logs. Database triggers log changes of rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from api.actors import SERVICE, Action, Actor, current_actor


@dataclass(frozen=True)
class ActionSubject:
    """The resource of an action, with the resource's name at the time of the action."""

    kind: str
    id: UUID | None = None
    name: str | None = None


@dataclass(frozen=True)
class AuditAction:
    """An action of an actor in an account."""

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
    """Return an action whose actor is the caller or, outside a request, the service."""
    return AuditAction(owner_id, action, current_actor() or SERVICE, subject, parameters)
