"""The caller of a request."""

from dataclasses import dataclass
from uuid import UUID

from api.scopes import Scope

SESSION_COOKIE = "session"
"""Name of the cookie that a browser shows in the place of a key."""


@dataclass(frozen=True)
class Principal:
    """Who calls, and what they may do. ``credential_id`` is that of the key or the session."""

    owner_id: UUID
    credential_id: UUID
    scopes: frozenset[Scope]
    is_session: bool = False
