"""Owners and keys in PostgreSQL."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session

from api.accounts.models import KeyRecord, LogInRecord, OwnerAccount, SessionRecord
from api.db.tables import ApiKey, CreditAccount, LoginSession, Owner
from api.scopes import Scope
from contracts.errors import InvalidInputError

_NO_PASSWORD = ""
"""Is the hash of none."""

LAST_USED_GRAIN = timedelta(minutes=1)
"""``last_used_at`` is written at most this often."""


class OwnerGoneError(InvalidInputError):
    """The owner has been removed since the caller was let in."""

    def __init__(self) -> None:
        super().__init__("The account has been removed.", code="invalid_credentials")


def add_owner(session: Session, email: str, password_hash: str, timezone: str) -> UUID:
    """Insert an owner with an empty credit account and return the id."""
    owner = Owner(email=email, password_hash=password_hash, timezone=timezone)
    session.add(owner)
    session.flush()
    session.add(CreditAccount(owner_id=owner.id))
    session.flush()
    return owner.id


def find_owner(session: Session, email: str) -> OwnerAccount | None:
    """Return the owner of an e-mail address (lower case)."""
    found = session.execute(_OWNERS.where(Owner.email == email)).one_or_none()
    return None if found is None else _owner(*found)


def list_owners(session: Session) -> list[OwnerAccount]:
    """Return all owners, newest first."""
    return [_owner(*row) for row in session.execute(_OWNERS.order_by(Owner.created_at.desc()))]


def lock_owner(session: Session, owner_id: UUID) -> Owner:
    """Return the owner, locked until the transaction ends.

    One creation at a time for each owner, so that limits hold.

    Raises:
        OwnerGoneError: there is none any more.
    """
    return _there(
        session.scalar(select(Owner).where(Owner.id == owner_id).with_for_update(key_share=True))
    )


def require_owner(session: Session, owner_id: UUID) -> Owner:
    """Return the owner.

    Raises:
        OwnerGoneError: there is none any more.
    """
    return _there(session.get(Owner, owner_id))


def _there(owner: Owner | None) -> Owner:
    if owner is None:
        raise OwnerGoneError
    return owner


def add_key(
    session: Session,
    owner_id: UUID,
    *,
    name: str,
    key_hash: bytes,
    prefix: str,
    scopes: frozenset[Scope],
    enabled: bool,
    expires_at: datetime | None,
) -> KeyRecord:
    """Insert a key and return its record."""
    key = ApiKey(
        owner_id=owner_id,
        name=name,
        key_hash=key_hash,
        prefix=prefix,
        scopes=sorted(scopes),
        enabled=enabled,
        expires_at=expires_at,
    )
    session.add(key)
    session.flush()
    session.refresh(key)
    return _key(key)


def list_keys(session: Session, owner_id: UUID) -> list[KeyRecord]:
    """Return the owner's keys, newest first."""
    found = session.scalars(
        select(ApiKey)
        .where(ApiKey.owner_id == owner_id)
        .order_by(ApiKey.created_at.desc(), ApiKey.id)
    )
    return [_key(key) for key in found]


def count_keys(session: Session, owner_id: UUID) -> int:
    """Return how many keys the owner has."""
    owned = select(func.count()).select_from(ApiKey).where(ApiKey.owner_id == owner_id)
    return session.scalar(owned) or 0


def lock_key(session: Session, owner_id: UUID, key_id: UUID) -> KeyRecord | None:
    """Return one of the owner's keys, locked until the transaction ends."""
    key = session.scalar(
        select(ApiKey).where(ApiKey.id == key_id, ApiKey.owner_id == owner_id).with_for_update()
    )
    return None if key is None else _key(key)


def change_key(
    session: Session,
    key_id: UUID,
    *,
    name: str,
    scopes: frozenset[Scope],
    enabled: bool,
    expires_at: datetime | None,
) -> KeyRecord:
    """Write the values to a locked key and return its record."""
    key = session.get_one(ApiKey, key_id)
    key.name, key.enabled, key.expires_at = name, enabled, expires_at
    key.scopes = sorted(scopes)
    session.flush()
    return _key(key)


def delete_key(session: Session, owner_id: UUID, key_id: UUID) -> bool:
    """Delete one of the owner's keys; False where there is none."""
    deleted = session.scalar(
        delete(ApiKey).where(ApiKey.id == key_id, ApiKey.owner_id == owner_id).returning(ApiKey.id)
    )
    return deleted is not None


def find_key(session: Session, key_hash: bytes) -> KeyRecord | None:
    """Return the key with this hash. Equality of an index tells an attacker nothing of the key."""
    key = session.scalars(select(ApiKey).where(ApiKey.key_hash == key_hash)).one_or_none()
    return None if key is None else _key(key)


def touch_key(session: Session, key_id: UUID, at: datetime) -> None:
    """Note that a key was used, unless that was noted within the last minute."""
    stale = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at < at - LAST_USED_GRAIN)
    session.execute(update(ApiKey).where(ApiKey.id == key_id, stale).values(last_used_at=at))


def find_log_in(session: Session, email: str) -> LogInRecord | None:
    """Return the owner of an e-mail address (lower case) with the hash of the password."""
    found = session.execute(_OWNERS.where(Owner.email == email)).one_or_none()
    if found is None:
        return None
    owner, balance = found
    return LogInRecord(_owner(owner, balance), owner.password_hash)


def add_session(
    session: Session, owner_id: UUID, token_hash: bytes, expires_at: datetime, *, keep: int
) -> SessionRecord:
    """Insert a session; of more than ``keep`` of one owner, the oldest end."""
    lock_owner(session, owner_id)
    row = LoginSession(owner_id=owner_id, token_hash=token_hash, expires_at=expires_at)
    session.add(row)
    session.flush()
    session.refresh(row)
    surplus = (
        select(LoginSession.id)
        .where(LoginSession.owner_id == owner_id)
        .order_by(LoginSession.created_at.desc(), LoginSession.id)
        .offset(keep)
    )
    session.execute(delete(LoginSession).where(LoginSession.id.in_(surplus)))
    return _session(row)


def find_session(session: Session, token_hash: bytes) -> SessionRecord | None:
    """Return the session whose token has this hash."""
    row = session.scalars(
        select(LoginSession).where(LoginSession.token_hash == token_hash)
    ).one_or_none()
    return None if row is None else _session(row)


def delete_session(session: Session, session_id: UUID) -> None:
    """Delete a session; harmless where that has happened already."""
    session.execute(delete(LoginSession).where(LoginSession.id == session_id))


def set_password(session: Session, owner_id: UUID, password_hash: str) -> int:
    """Set an owner's password, end all sessions of the owner, and return how many there were."""
    lock_owner(session, owner_id).password_hash = password_hash
    gone = session.scalars(
        delete(LoginSession).where(LoginSession.owner_id == owner_id).returning(LoginSession.id)
    )
    return len(gone.all())


def close_owner(session: Session, owner_id: UUID) -> tuple[int, int]:
    """Let nobody in any more: no password fits, all sessions and keys are deleted; how many."""
    lock_owner(session, owner_id).password_hash = _NO_PASSWORD
    sessions = delete(LoginSession).where(LoginSession.owner_id == owner_id)
    keys = delete(ApiKey).where(ApiKey.owner_id == owner_id)
    return (
        len(session.scalars(sessions.returning(LoginSession.id)).all()),
        len(session.scalars(keys.returning(ApiKey.id)).all()),
    )


def delete_owner(session: Session, owner_id: UUID) -> None:
    """Delete an owner with all rows of the owner's, untold: tell of what stages know before."""
    session.execute(delete(Owner).where(Owner.id == owner_id))


def delete_expired_sessions(session: Session, now: datetime) -> int:
    """Delete sessions that have expired, and return how many there were."""
    gone = session.scalars(
        delete(LoginSession).where(LoginSession.expires_at <= now).returning(LoginSession.id)
    )
    return len(gone.all())


_OWNERS = select(Owner, func.coalesce(CreditAccount.balance, 0)).outerjoin(
    CreditAccount, CreditAccount.owner_id == Owner.id
)


def _owner(owner: Owner, balance: int) -> OwnerAccount:
    return OwnerAccount(
        id=owner.id,
        email=owner.email,
        timezone=owner.timezone,
        credits=balance,
        created_at=owner.created_at,
    )


def _session(row: LoginSession) -> SessionRecord:
    return SessionRecord(
        id=row.id, owner_id=row.owner_id, expires_at=row.expires_at, created_at=row.created_at
    )


def _key(key: ApiKey) -> KeyRecord:
    known = {scope.value for scope in Scope}
    return KeyRecord(
        id=key.id,
        owner_id=key.owner_id,
        name=key.name,
        prefix=key.prefix,
        # A scope that a later release granted means nothing to this one.
        scopes=frozenset(Scope(scope) for scope in key.scopes if scope in known),
        enabled=key.enabled,
        expires_at=key.expires_at,
        last_used_at=key.last_used_at,
        created_at=key.created_at,
    )
