"""Owners and keys in PostgreSQL."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from api.accounts.models import KeyRecord, OwnerAccount
from api.db.tables import ApiKey, CreditAccount, Owner
from api.scopes import Scope

LAST_USED_GRAIN = timedelta(minutes=1)
"""``last_used_at`` is written at most this often."""


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
    """
    return session.scalars(
        select(Owner).where(Owner.id == owner_id).with_for_update(key_share=True)
    ).one()


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


def find_key(session: Session, key_hash: bytes) -> KeyRecord | None:
    """Return the key with this hash. Equality of an index tells an attacker nothing of the key."""
    key = session.scalars(select(ApiKey).where(ApiKey.key_hash == key_hash)).one_or_none()
    return None if key is None else _key(key)


def touch_key(session: Session, key_id: UUID, at: datetime) -> None:
    """Note that a key was used, unless that was noted within the last minute."""
    stale = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at < at - LAST_USED_GRAIN)
    session.execute(update(ApiKey).where(ApiKey.id == key_id, stale).values(last_used_at=at))


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
