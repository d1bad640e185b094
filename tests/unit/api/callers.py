"""Callers with limits, and limits that no test reaches."""

from collections.abc import Mapping
from uuid import NAMESPACE_OID, UUID, uuid5

from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.security.permissions import Principal


def endless_limits(**sizes: int) -> OwnerLimits:
    """Return account limits that no test reaches, except for ``sizes`` by name."""
    return OwnerLimits({limit: sizes.get(limit.value, 10**9) for limit in OwnerLimit})


def named_id(name: str) -> UUID:
    """Return an ID that depends only on the name."""
    return uuid5(NAMESPACE_OID, name)


def caller(
    key: str, owner: str | None = None, limits: Mapping[str, int] | None = None
) -> Principal:
    """Return a caller with a key of this name, in the account ``owner`` or in its own."""
    return Principal(
        named_id(owner or f"owner of {key}"), named_id(key), frozenset(), limits=limits or {}
    )
