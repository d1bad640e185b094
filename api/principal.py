"""The caller of a request."""

from dataclasses import dataclass
from uuid import UUID

from api.scopes import Scope


@dataclass(frozen=True)
class Principal:
    """Who calls, and what they may do."""

    owner_id: UUID
    key_id: UUID
    scopes: frozenset[Scope]
