"""Lists, updates, unlinks and removes the people of an account."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner
from api.db.database import Database
from api.db.people_tables import Person
from api.errors import ApiError, ErrorCode, require_found
from api.people import repository
from api.security.authentication import Authenticator
from api.security.permissions import Principal, Role
from api.security.repository import delete_sessions, get_session, session_ids


def lock_as_administrator(session: Session, caller: Principal) -> None:
    """Lock the caller's account and check again that the caller is an administrator.

    Raises:
        ApiError: 401, the session ended during the request; 403, the role changed.
    """
    lock_owner(session, caller.owner_id)
    if get_session(session, caller).person.role is not Role.ADMINISTRATOR:
        raise ApiError(ErrorCode.MISSING_SCOPE, "This call requires the administrator role.")


class People:
    """Manages people. Changes are made on behalf of the administrator ``caller``."""

    def __init__(self, database: Database, authenticator: Authenticator) -> None:
        self._database = database
        self._authenticator = authenticator

    async def list_all(self, owner_id: UUID) -> Sequence[Person]:
        """Return the account's people, newest first."""
        return await self._database.run(lambda session: repository.list_people(session, owner_id))

    async def change(self, caller: Principal, person_id: UUID, change: Mapping[str, Any]) -> Person:
        """Change the ``role`` of a person, or whether they are ``enabled``.

        A person's sessions immediately get the new role's scopes, or end if the person is disabled.

        Raises:
            ApiError: 404, the account has no such person; 409, no other administrator is left.
        """
        return await self._ending(lambda session: _change(session, caller, person_id, change))

    async def remove(self, caller: Principal, person_id: UUID) -> None:
        """Remove a person and end their sessions. API keys belong to the account and stay valid.

        Raises:
            ApiError: 404, the account has no such person; 409, no other administrator is left.
        """
        await self._ending(lambda session: _remove(session, caller, person_id))

    async def unbind(self, caller: Principal, person_id: UUID) -> None:
        """Unlink a person from the identity provider and end their sessions.

        Raises:
            ApiError: 404, the person does not exist or is not linked; 409, the person has no
                password, and no other administrator is left.
        """
        await self._ending(lambda session: _unbind(session, caller, person_id))

    async def _ending(self, work: Callable[[Session], tuple[Person, list[UUID]]]) -> Person:
        """Run ``work``, drop the returned sessions from the cache, and return the person."""
        person, sessions = await self._database.run(work)
        for session_id in sessions:
            self._authenticator.forget(session_id)
        return person


def _change(
    session: Session, caller: Principal, person_id: UUID, change: Mapping[str, Any]
) -> tuple[Person, list[UUID]]:
    lock_as_administrator(session, caller)
    person = require_found(repository.get_person(session, caller.owner_id, person_id))
    role = Role(change.get("role", person.role))
    enabled = bool(change.get("enabled", person.enabled))
    if role is not Role.ADMINISTRATOR or not enabled:
        _require_other_administrator(session, person)
    person.role, person.enabled = role.value, enabled
    session.flush()
    end = session_ids if enabled else delete_sessions
    return person, end(session, person.id)


def _remove(session: Session, caller: Principal, person_id: UUID) -> tuple[Person, list[UUID]]:
    lock_as_administrator(session, caller)
    person = require_found(repository.get_person(session, caller.owner_id, person_id))
    _require_other_administrator(session, person)
    sessions = session_ids(session, person.id)
    repository.delete_person(session, person)
    return person, sessions


def _unbind(session: Session, caller: Principal, person_id: UUID) -> tuple[Person, list[UUID]]:
    lock_as_administrator(session, caller)
    person = require_found(repository.get_person(session, caller.owner_id, person_id))
    require_found(person.oidc_subject)
    # Without a password or an identity, the last administrator could not log in.
    if not person.has_password:
        _require_other_administrator(session, person)
    return person, repository.unbind(session, person)


def _require_other_administrator(session: Session, person: Person) -> None:
    if not repository.has_other_administrator(session, person):
        raise ApiError(ErrorCode.LAST_ADMINISTRATOR)
