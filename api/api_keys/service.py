"""Lists, creates, updates and revokes API keys."""

from collections.abc import Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner, require_owner
from api.accounts.service import NewKey, create_key
from api.api_keys.schemas import ApiKeyCreate, ApiKeyUpdate
from api.db.database import Database
from api.errors import ApiError, ErrorCode, require_found
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.security import repository
from api.security.authentication import Authenticator
from api.security.permissions import ROLE_SCOPES, Principal, Scope
from api.security.repository import KeyRecord

MAX_REVOKED_ANCESTORS = 50
"""Revoked ancestors beyond this position are dropped, so that lists of ancestors stay short."""


@dataclass(frozen=True)
class KeyValues:
    """An API key's fields that clients can set. ``expires_at`` is None if the key never expires."""

    name: str
    scopes: frozenset[Scope]
    enabled: bool
    expires_at: datetime | None

    def is_stronger_than(self, other: "KeyValues") -> bool:
        """Return whether this key can be valid when ``other`` is not. Scopes are not compared."""
        return (self.enabled and not other.enabled) or _is_later(self.expires_at, other.expires_at)


@dataclass(frozen=True)
class Granter:
    """The permissions that a caller can grant. ``expires_at`` is None if access never expires.

    ``line`` contains the IDs of the calling key and its ancestors. For a session, it is empty.
    """

    scopes: frozenset[Scope]
    expires_at: datetime | None = None
    line: tuple[UUID, ...] = ()

    def scopes_beyond(self, wanted: KeyValues, current: KeyValues | None) -> frozenset[Scope]:
        """Return the scopes that the change would grant but that the caller lacks.

        A new or existing key cannot get scopes that the caller lacks. If an existing key has such
        scopes, the caller can neither enable the key nor extend the key's validity. Reducing a
        key's permissions is always allowed.
        """
        if current is None or wanted.is_stronger_than(current):
            return wanted.scopes - self.scopes
        return wanted.scopes - current.scopes - self.scopes

    def is_outlived(self, wanted: KeyValues, current: KeyValues | None) -> bool:
        """Return whether a permission would be granted beyond the caller's own expiry.

        Reducing the permissions of a key is always allowed, even if the key expires later.
        """
        gives = (
            current is None
            or wanted.is_stronger_than(current)
            or not wanted.scopes <= current.scopes
        )
        return gives and _is_later(wanted.expires_at, self.expires_at)

    def check(self, wanted: KeyValues, current: KeyValues | None) -> None:
        """Reject a grant of permissions that the caller does not have.

        Raises:
            ApiError: 403, the caller lacks a scope or has an earlier expiry.
        """
        beyond = self.scopes_beyond(wanted, current)
        if beyond:
            names = ", ".join(sorted(beyond))
            raise ApiError(
                ErrorCode.MISSING_SCOPE,
                f"An API key cannot grant scopes that it does not have: {names}.",
            )
        if self.is_outlived(wanted, current):
            raise ApiError(ErrorCode.BEYOND_OWN_EXPIRY)

    def ancestors_of_new(self, existing: Set[UUID]) -> tuple[UUID, ...]:
        """Return the ancestors of a new key.

        An ancestor that still exists is always included, however distant.
        """
        return tuple(
            key_id
            for position, key_id in enumerate(self.line)
            if position < MAX_REVOKED_ANCESTORS or key_id in existing
        )


def _is_later(one: datetime | None, other: datetime | None) -> bool:
    """Return whether an expiry time is later than another. None means that a key never expires."""
    return other is not None and (one is None or one > other)


class ApiKeys:
    """Manages API keys. All methods take the ID of the account, or the caller."""

    def __init__(
        self, database: Database, authenticator: Authenticator, limits: OwnerLimits
    ) -> None:
        self._database = database
        self._authenticator = authenticator
        self._limits = limits

    async def list_all(self, owner_id: UUID) -> list[KeyRecord]:
        """Return an account's API keys, newest first."""
        return await self._database.run(lambda session: repository.list_keys(session, owner_id))

    async def get(self, owner_id: UUID, key_id: UUID) -> KeyRecord:
        """Return an API key of an account.

        Raises:
            ApiError: 404, the account has no such key.
        """
        return require_found(
            await self._database.run(lambda session: repository.get_key(session, owner_id, key_id))
        )

    async def create(self, caller: Principal, body: ApiKeyCreate) -> NewKey:
        """Create an API key, and return it with the plain key.

        Raises:
            ApiError: 403, the caller lacks a scope or has an earlier expiry; 409, the account has
                reached its limit of API keys; 401, the caller's credential is no longer valid.
        """
        created = await self._database.run(lambda session: self._insert(session, caller, body))
        self._authenticator.expect_key(created.plain_key)
        return created

    async def update(self, caller: Principal, key_id: UUID, body: ApiKeyUpdate) -> KeyRecord:
        """Update the fields that were sent, and return the API key.

        Raises:
            ApiError: 403, the caller lacks a scope or has an earlier expiry; 404, the account has
                no such key; 401, the caller's credential is no longer valid.
        """
        record = await self._database.run(lambda session: _change(session, caller, key_id, body))
        self._authenticator.forget(key_id)
        return record

    async def revoke(self, owner_id: UUID, key_id: UUID) -> None:
        """Delete an API key. All API processes stop accepting the key within a second.

        Raises:
            ApiError: 404, the account has no such key.
        """
        deleted = await self._database.run(
            lambda session: repository.delete_key(session, owner_id, key_id)
        )
        require_found(deleted)
        self._authenticator.forget(key_id)

    def _insert(self, session: Session, caller: Principal, body: ApiKeyCreate) -> NewKey:
        granter = _granter(session, caller)
        has_end = "expires_at" in body.model_fields_set
        expires_at = body.expires_at if has_end else granter.expires_at
        values = KeyValues(body.name, frozenset(body.scopes), body.enabled, expires_at)
        granter.check(values, None)
        existing = repository.key_ids(session, caller.owner_id)
        own = require_owner(session, caller.owner_id).limits
        self._limits.require(OwnerLimit.API_KEYS, caller.owner_id, own, len(existing) + 1)
        return create_key(
            session,
            caller.owner_id,
            name=values.name,
            scopes=values.scopes,
            enabled=values.enabled,
            expires_at=values.expires_at,
            ancestors=granter.ancestors_of_new(existing),
        )


def _granter(session: Session, caller: Principal) -> Granter:
    """Lock the caller's account, and return the permissions that the caller can grant.

    Raises:
        ApiError: 401, the key or the session has become invalid since it was authenticated.
    """
    lock_owner(session, caller.owner_id)
    if caller.is_session:
        return Granter(ROLE_SCOPES[repository.get_session(session, caller).person.role])
    key = repository.get_key(session, caller.owner_id, caller.credential_id, locks=True)
    if key is None or not key.enabled:
        raise ApiError(ErrorCode.INVALID_CREDENTIALS)
    return Granter(key.scopes, key.expires_at, (key.id, *key.ancestors))


def _change(session: Session, caller: Principal, key_id: UUID, body: ApiKeyUpdate) -> KeyRecord:
    granter = _granter(session, caller)
    record = require_found(repository.get_key(session, caller.owner_id, key_id, locks=True))
    current = KeyValues(record.name, record.scopes, record.enabled, record.expires_at)
    sent: dict[str, Any] = {field: getattr(body, field) for field in body.model_fields_set}
    if "scopes" in sent:
        sent["scopes"] = frozenset(body.scopes)
    wanted = replace(current, **sent)
    granter.check(wanted, current)
    if "scopes" in sent:
        sent["scopes"] = sorted(wanted.scopes)
    return repository.change_key(session, key_id, sent)
