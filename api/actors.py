"""Who changes what: told to PostgreSQL with each change, for the entries of the audit log."""

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
"""The setting of a transaction that the triggers read (migration 0001)."""


class ActorKind(StrEnum):
    """Actor type. `database` is a direct change in the database, outside the service."""

    PERSON = "person"
    KEY = "key"
    NOBODY = "nobody"
    COMMAND = "command"
    SERVICE = "service"
    DATABASE = "database"


class Action(StrEnum):
    """Acts that change no row, and those whose row tells nothing of them."""

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
    """Somebody who acts, as they are named now: a person by e-mail address, a key by its name.

    ``prefix`` is that of a key; ``address`` and ``request_id`` are of the call.
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
    """Return who makes the request in hand; None outside of any that may change something."""
    return _ACTOR.get()


@contextmanager
def acting(actor: Actor | None) -> Iterator[None]:
    """Let what is changed within the block be by ``actor``; None: by the service itself."""
    token = _ACTOR.set(actor)
    try:
        yield
    finally:
        _ACTOR.reset(token)


def announce(session: Session, actor: Actor) -> None:
    """Tell the triggers who acts in this transaction."""
    session.execute(select(func.set_config(SETTING, encoded(actor), True)))


def announce_person(session: Session, person_id: UUID, email: str) -> None:
    """Tell the triggers who a caller without a credential turned out to be."""
    told = func.coalesce(func.nullif(func.current_setting(SETTING, True), ""), "{}")
    person = {"kind": ActorKind.PERSON, "id": str(person_id), "name": email}
    both = cast(told, JSONB).op("||")(cast(person, JSONB))
    session.execute(select(func.set_config(SETTING, cast(both, Text), True)))


def encoded(actor: Actor) -> str:
    """Return an actor as the triggers read it."""
    told = {name: one for name, one in msgspec.to_builtins(actor).items() if one is not None}
    return msgspec.json.encode(told).decode()
