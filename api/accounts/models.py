"""Owners and keys as the rest of the service sees them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from api.scopes import Scope


@dataclass(frozen=True)
class OwnerAccount:
    """An owner with the balance of their credits."""

    id: UUID
    email: str
    timezone: str
    credits: int
    created_at: datetime


@dataclass(frozen=True)
class KeyRecord:
    """What is known of a key; the key itself is not."""

    id: UUID
    owner_id: UUID
    name: str
    prefix: str
    scopes: frozenset[Scope]
    enabled: bool
    expires_at: datetime | None
    last_used_at: datetime | None
    created_at: datetime


@dataclass(frozen=True)
class SessionRecord:
    """What is known of a session; its token is not."""

    id: UUID
    owner_id: UUID
    expires_at: datetime
    created_at: datetime


@dataclass(frozen=True, repr=False)
class LogInRecord:
    """An owner, with what a password is compared with."""

    owner: OwnerAccount
    password_hash: str


@dataclass(frozen=True)
class NewKey:
    """A key just made: the only moment at which ``plain_key`` exists."""

    record: KeyRecord
    plain_key: str
