"""Passes the actor of a request to PostgreSQL with each change, for the audit log."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

import msgspec
from sqlalchemy import Text, cast, func, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

SETTING = "platestream.actor"
"""The transaction setting that the triggers read (migration 0001)."""


class ActorKind(StrEnum):
    """Actor type. `database` marks a change that was made directly in the database."""

    PERSON = "person"
    KEY = "key"
    NOBODY = "nobody"
    COMMAND = "command"
    SERVICE = "service"
    DATABASE = "database"


class Action(StrEnum):
    """Actions that change no row, or that cannot be recognised from the changed row."""

    RECOGNITIONS_SEARCHED = "recognitions.searched"
    RECOGNITIONS_EXPORTED = "recognitions.exported"
    RECOGNITIONS_STREAMED = "recognitions.streamed"
    RECOGNITION_VIEWED = "recognition.viewed"
    PHOTO_VIEWED = "recognition.photo_viewed"
    CORRECTIONS_SEARCHED = "corrections.searched"
    ANALYTICS_VIEWED = "analytics.viewed"
    ALERT_TRIED = "alert.tried"
    ALERT_TRIGGERS_VIEWED = "alert.triggers_viewed"
    CAMERA_TRIED = "camera.tried"
    AUDIT_READ = "audit.read"
    AUDIT_INCOMPLETE = "audit.incomplete"
    PASSWORD_REFUSED = "password.refused"
    PROVIDER_REFUSED = "provider.refused"
    WEBHOOK_TESTED = "webhook.tested"
    DELIVERY_REPEATED = "delivery.repeated"
    EVENTS_REPLAYED = "events.replayed"
    ALERT_TESTED = "alert.tested"
    PLATE_ERASURE_ASKED = "plate.erasure_asked"
    PLATE_ERASED = "plate.erased"
    ACCOUNT_RESTORED = "account.restored"


@dataclass(frozen=True)
class Actor:
    """The author of a change. ``name`` is a person's current email address or an API key's name.

    ``prefix`` is an API key's prefix. ``address`` (IP) and ``request_id`` are those of the request.
    """

    kind: ActorKind
    id: UUID | None = None
    name: str | None = None
    prefix: str | None = None
    address: str | None = None
    request_id: str | None = None


SERVICE = Actor(ActorKind.SERVICE)
_ACTOR: ContextVar[Actor | None] = ContextVar("actor", default=None)


def current_actor() -> Actor | None:
    """Return the actor of the current request, or None outside requests that can change data."""
    return _ACTOR.get()


@contextmanager
def acting(actor: Actor | None) -> Iterator[None]:
    """Attribute changes within the block to ``actor``, or to the service if ``actor`` is None."""
    token = _ACTOR.set(actor)
    try:
        yield
    finally:
        _ACTOR.reset(token)


def announce(session: Session, actor: Actor) -> None:
    """Set the actor that the database triggers log in this transaction."""
    session.execute(select(func.set_config(SETTING, encoded(actor), True)))


def announce_person(session: Session, person_id: UUID, email: str) -> None:
    """Make a person this transaction's actor, once an anonymous caller has been identified."""
    current = func.coalesce(func.nullif(func.current_setting(SETTING, True), ""), "{}")
    person = {"kind": ActorKind.PERSON, "id": str(person_id), "name": email}
    both = cast(current, JSONB).op("||")(cast(person, JSONB))
    session.execute(select(func.set_config(SETTING, cast(both, Text), True)))


def encoded(actor: Actor) -> str:
    """Return an actor in the format that the database triggers read."""
    values = {name: one for name, one in msgspec.to_builtins(actor).items() if one is not None}
    return msgspec.json.encode(values).decode()
