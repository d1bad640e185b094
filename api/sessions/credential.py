"""Describes the account and permissions of a credential, and new sessions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from api.accounts.repository import OwnerAccount
from api.security.permissions import PersonIdentity, Scope
from api.security.repository import SessionRecord


@dataclass(frozen=True)
class Credential:
    """A session or API key, with the account. ``limits`` are the account's limits, by name.

    ``person`` is the person who logged in, or None for an API key.
    """

    id: UUID
    owner: OwnerAccount
    scopes: frozenset[Scope]
    person: PersonIdentity | None
    expires_at: datetime | None
    limits: Mapping[str, int]


@dataclass(frozen=True, repr=False)
class NewSession:
    """A new session, with the token, which is not stored.

    ``device`` is the cookie that identifies the device at the next login.
    """

    credential: Credential
    record: SessionRecord
    token: str
    device: str
