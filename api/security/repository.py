"""Stores API keys and sessions in PostgreSQL."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session

from api.db.people_tables import LoginSession, Person
from api.db.tables import ApiKey, Owner, newest_first
from api.errors import ApiError, ErrorCode
from api.security.permissions import PersonIdentity, Principal, Role, Scope

LAST_USED_GRAIN = timedelta(minutes=1)
"""Minimum time between updates of ``last_used_at``."""

_SESSIONS = select(LoginSession, Person).join(Person, Person.id == LoginSession.person_id)


@dataclass(frozen=True)
class KeyRecord:
    """A stored API key, without the plain text.

    ``ancestors`` are the keys with which the key was created, nearest first, including revoked
    keys. ``limits`` are the account's own limits, if read.
    """

    id: UUID
    owner_id: UUID
    name: str
    prefix: str
    scopes: frozenset[Scope]
    enabled: bool
    expires_at: datetime | None
    last_used_at: datetime | None
    created_at: datetime
    ancestors: tuple[UUID, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SessionRecord:
    """A stored session, without the token. ``limits`` are as in :class:`KeyRecord`.

    ``person`` is the current state of the person who logged in.
    """

    id: UUID
    owner_id: UUID
    person: PersonIdentity
    expires_at: datetime
    created_at: datetime
    limits: Mapping[str, int] = field(default_factory=dict)


def insert_key(session: Session, key: ApiKey) -> KeyRecord:
    """Insert an API key and return its record."""
    session.add(key)
    session.flush()
    session.refresh(key)
    return _key(key)


def list_keys(session: Session, owner_id: UUID) -> list[KeyRecord]:
    """Return the account's API keys, newest first."""
    return [_key(key) for key in session.scalars(newest_first(ApiKey, owner_id))]


def key_ids(session: Session, owner_id: UUID) -> frozenset[UUID]:
    """Return the IDs of the account's API keys."""
    return frozenset(session.scalars(select(ApiKey.id).where(ApiKey.owner_id == owner_id)))


def get_key(
    session: Session, owner_id: UUID, key_id: UUID, *, locks: bool = False
) -> KeyRecord | None:
    """Return an API key of the account, or None if the key does not exist.

    With ``locks``, the key is locked until the transaction ends.
    """
    wanted = select(ApiKey).where(ApiKey.id == key_id, ApiKey.owner_id == owner_id)
    key = session.scalar(wanted.with_for_update() if locks else wanted)
    return None if key is None else _key(key)


def change_key(session: Session, key_id: UUID, values: Mapping[str, Any]) -> KeyRecord:
    """Update columns of a locked API key and return its record."""
    key = session.get_one(ApiKey, key_id)
    for name, value in values.items():
        setattr(key, name, value)
    session.flush()
    return _key(key)


def delete_key(session: Session, owner_id: UUID, key_id: UUID) -> bool:
    """Delete an API key. Return False if the account has no such key."""
    deleted = session.scalar(
        delete(ApiKey).where(ApiKey.id == key_id, ApiKey.owner_id == owner_id).returning(ApiKey.id)
    )
    return deleted is not None


def find_key(session: Session, key_hash: bytes) -> KeyRecord | None:
    """Return the API key with this hash, or None. The lookup time does not reveal the key."""
    of_hash = select(ApiKey, Owner.limits).join(Owner).where(ApiKey.key_hash == key_hash)
    found = session.execute(of_hash).one_or_none()
    return None if found is None else _key(*found)


def touch_key(session: Session, key_id: UUID, at: datetime) -> None:
    """Update ``last_used_at`` unless it was updated within :data:`LAST_USED_GRAIN`."""
    stale = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at < at - LAST_USED_GRAIN)
    session.execute(update(ApiKey).where(ApiKey.id == key_id, stale).values(last_used_at=at))


def insert_session(
    session: Session, person: Person, token_hash: bytes, expires_at: datetime, *, max_sessions: int
) -> SessionRecord:
    """Insert and return a session. Delete the person's oldest sessions above ``max_sessions``."""
    row = LoginSession(
        owner_id=person.owner_id,
        person_id=person.id,
        token_hash=token_hash,
        expires_at=expires_at,
    )
    session.add(row)
    session.flush()
    session.refresh(row)
    surplus = (
        select(LoginSession.id)
        .where(LoginSession.person_id == person.id)
        .order_by(LoginSession.created_at.desc(), LoginSession.id)
        .offset(max_sessions)
    )
    session.execute(delete(LoginSession).where(LoginSession.id.in_(surplus)))
    return _session(row, person)


def find_session(session: Session, token_hash: bytes) -> SessionRecord | None:
    """Return the session with this token hash, or None if unknown or the person is disabled."""
    of_hash = (
        select(LoginSession, Person, Owner.limits)
        .join(Person, Person.id == LoginSession.person_id)
        .join(Owner, Owner.id == LoginSession.owner_id)
        .where(LoginSession.token_hash == token_hash, Person.enabled)
    )
    found = session.execute(of_hash).one_or_none()
    return None if found is None else _session(*found)


def get_session(session: Session, caller: Principal) -> SessionRecord:
    """Return the caller's session.

    Raises:
        ApiError: 401, the session has ended or the person is disabled.
    """
    is_callers = LoginSession.id == caller.credential_id, LoginSession.owner_id == caller.owner_id
    found = session.execute(_SESSIONS.where(*is_callers, Person.enabled)).one_or_none()
    if found is None:
        raise ApiError(ErrorCode.INVALID_CREDENTIALS)
    return _session(*found)


def list_sessions(session: Session, person_id: UUID) -> list[SessionRecord]:
    """Return a person's unexpired sessions, newest first."""
    found = session.execute(
        _SESSIONS.where(
            LoginSession.person_id == person_id, LoginSession.expires_at > func.now()
        ).order_by(LoginSession.created_at.desc(), LoginSession.id)
    )
    return [_session(*row) for row in found]


def delete_sessions(session: Session, person_id: UUID, *, only: UUID | None = None) -> list[UUID]:
    """Delete a person's sessions, or only the session ``only``. Return the deleted IDs."""
    wanted = [LoginSession.person_id == person_id]
    if only is not None:
        wanted.append(LoginSession.id == only)
    return list(session.scalars(delete(LoginSession).where(*wanted).returning(LoginSession.id)))


def session_ids(session: Session, person_id: UUID) -> list[UUID]:
    """Return the IDs of a person's sessions."""
    return list(session.scalars(select(LoginSession.id).where(LoginSession.person_id == person_id)))


def delete_session(session: Session, session_id: UUID) -> None:
    """Delete a session, if it still exists."""
    session.execute(delete(LoginSession).where(LoginSession.id == session_id))


def delete_expired_sessions(session: Session, now: datetime) -> int:
    """Delete expired sessions, and return their number."""
    deleted = session.scalars(
        delete(LoginSession).where(LoginSession.expires_at <= now).returning(LoginSession.id)
    )
    return len(deleted.all())


def _session(
    row: LoginSession, person: Person, limits: Mapping[str, int] | None = None
) -> SessionRecord:
    return SessionRecord(
        id=row.id,
        owner_id=row.owner_id,
        person=_person(person),
        expires_at=row.expires_at,
        created_at=row.created_at,
        limits=limits or {},
    )


def _person(person: Person) -> PersonIdentity:
    """Return the identity of a person."""
    role = Role(person.role)
    return PersonIdentity(person.id, person.email, person.name, role, person.has_password)


def _key(key: ApiKey, limits: Mapping[str, int] | None = None) -> KeyRecord:
    known = {scope.value for scope in Scope}
    return KeyRecord(
        id=key.id,
        owner_id=key.owner_id,
        name=key.name,
        prefix=key.prefix,
        # Scopes of a later release are ignored.
        scopes=frozenset(Scope(scope) for scope in key.scopes if scope in known),
        enabled=key.enabled,
        expires_at=key.expires_at,
        last_used_at=key.last_used_at,
        created_at=key.created_at,
        ancestors=tuple(key.ancestors),
        limits=limits or {},
    )
