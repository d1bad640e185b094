"""What a session or a key opens, and a session that was just made."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from api.accounts.repository import OwnerAccount
from api.security.permissions import PersonIdentity, Scope
from api.security.repository import SessionRecord


@dataclass(frozen=True)
class Credential:
    """A session or a key with the account that it opens. ``limits`` are sizes by name.

    ``person`` is who logged in, None for a key.
    """

    id: UUID
    owner: OwnerAccount
    scopes: frozenset[Scope]
    person: PersonIdentity | None
    expires_at: datetime | None
    limits: Mapping[str, int]


@dataclass(frozen=True, repr=False)
class NewSession:
    """A session just made: the only moment at which its token exists.

    ``device`` is the cookie by which the next log-in on this device is known.
    """

    credential: Credential
    record: SessionRecord
    token: str
    device: str
