"""What can be decided of a key, and who may decide it."""

from dataclasses import dataclass
from datetime import datetime

from api.scopes import Scope


@dataclass(frozen=True)
class KeyValues:
    """What a client decides of a key. ``expires_at`` None: never."""

    name: str
    scopes: frozenset[Scope]
    enabled: bool
    expires_at: datetime | None

    def is_stronger_than(self, other: "KeyValues") -> bool:
        """Tell whether this one works where or when ``other`` does not, scopes aside."""
        if self.enabled and not other.enabled:
            return True
        if other.expires_at is None:
            return False
        return self.expires_at is None or self.expires_at > other.expires_at


def scopes_beyond(
    granter: frozenset[Scope], wanted: KeyValues, current: KeyValues | None
) -> frozenset[Scope]:
    """Return the scopes that ``granter`` would give away without having them.

    A new key may have no scope that its maker lacks. A changed one may get none, and one that has
    some may neither be switched on nor live longer by the hand of a caller that lacks them; to
    take away is always allowed.
    """
    if current is None or wanted.is_stronger_than(current):
        return wanted.scopes - granter
    return wanted.scopes - current.scopes - granter
