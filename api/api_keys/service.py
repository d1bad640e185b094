"""What can be done with API keys."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from api.accounts import repository
from api.accounts.authentication import Authenticator
from api.accounts.models import KeyRecord, NewKey
from api.accounts.service import create_key
from api.api_keys.models import KeyValues, scopes_beyond
from api.api_keys.schemas import ApiKeyCreate, ApiKeyUpdate
from api.db.engine import Database
from api.errors import ApiError, ErrorCode, found
from api.principal import Principal


class ApiKeys:
    """The keys of all owners; every call names the caller it acts for."""

    def __init__(self, database: Database, authenticator: Authenticator, *, per_owner: int) -> None:
        """``per_owner`` is how many keys an owner may have."""
        self._database = database
        self._authenticator = authenticator
        self._per_owner = per_owner

    async def all_of(self, owner_id: UUID) -> list[KeyRecord]:
        """Return the owner's keys, newest first."""
        return await self._database.run(lambda session: repository.list_keys(session, owner_id))

    async def create(self, caller: Principal, body: ApiKeyCreate) -> NewKey:
        """Make a key.

        Raises:
            ApiError: 403 for scopes that the caller lacks, 409 for the limit.
        """
        values = KeyValues(body.name, frozenset(body.scopes), body.enabled, body.expires_at)
        _check_scopes(caller, values, None)
        return await self._database.run(
            lambda session: self._insert(session, caller.owner_id, values)
        )

    async def update(self, caller: Principal, key_id: UUID, body: ApiKeyUpdate) -> KeyRecord:
        """Change the fields that were sent.

        Raises:
            ApiError: 403 for scopes that the caller lacks, 404.
        """
        record = await self._database.run(lambda session: _change(session, caller, key_id, body))
        self._authenticator.forget(key_id)
        return record

    async def revoke(self, owner_id: UUID, key_id: UUID) -> None:
        """Delete a key: within a second no process of the API takes it.

        Raises:
            ApiError: 404.
        """
        deleted = await self._database.run(
            lambda session: repository.delete_key(session, owner_id, key_id)
        )
        if not deleted:
            raise ApiError(ErrorCode.NOT_FOUND)
        self._authenticator.forget(key_id)

    def _insert(self, session: Session, owner_id: UUID, values: KeyValues) -> NewKey:
        repository.lock_owner(session, owner_id)
        if repository.count_keys(session, owner_id) >= self._per_owner:
            raise ApiError(ErrorCode.LIMIT_REACHED, "No more API keys are allowed.")
        return create_key(
            session,
            owner_id,
            name=values.name,
            scopes=values.scopes,
            enabled=values.enabled,
            expires_at=values.expires_at,
        )


def _change(session: Session, caller: Principal, key_id: UUID, body: ApiKeyUpdate) -> KeyRecord:
    record = found(repository.lock_key(session, caller.owner_id, key_id))
    current = KeyValues(record.name, record.scopes, record.enabled, record.expires_at)
    sent: dict[str, Any] = {field: getattr(body, field) for field in body.model_fields_set}
    if "scopes" in sent:
        sent["scopes"] = frozenset(body.scopes)
    wanted = replace(current, **sent)
    _check_scopes(caller, wanted, current)
    return repository.change_key(
        session,
        key_id,
        name=wanted.name,
        scopes=wanted.scopes,
        enabled=wanted.enabled,
        expires_at=wanted.expires_at,
    )


def _check_scopes(caller: Principal, wanted: KeyValues, current: KeyValues | None) -> None:
    beyond = scopes_beyond(caller.scopes, wanted, current)
    if beyond:
        names = ", ".join(sorted(beyond))
        raise ApiError(
            ErrorCode.MISSING_SCOPE, f"A key cannot give scopes that it lacks itself: {names}."
        )
