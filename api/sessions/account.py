"""Changes the caller's account: the time zone, and the person's password and sessions."""

from uuid import UUID

from sqlalchemy.orm import Session

from api.accounts.repository import LogInRecord, lock_owner, set_password
from api.alerts.repository import publish_inherited_timezone
from api.db.people_tables import Person
from api.errors import ApiError, ErrorCode, invalid_field
from api.security import credentials
from api.security.permissions import Principal
from api.security.repository import SessionRecord, delete_sessions, get_session, list_sessions
from api.sessions.attempts import Origin
from api.sessions.credential import Credential
from api.sessions.service import Sessions

_NONE_THERE = (
    "cannot be checked: you log in through the identity provider and have no password; a server "
    "administrator can set one for you"
)


def change_timezone(session: Session, owner_id: UUID, timezone: str) -> int:
    """Set an account's time zone, publish the alerts that use it, and return their number."""
    owner = lock_owner(session, owner_id)
    if owner.timezone == timezone:
        return 0
    owner.timezone = timezone
    return publish_inherited_timezone(session, owner)


class OwnAccount:
    """Changes that a person can make to their own account and sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def change(
        self,
        caller: Principal,
        address: str,
        device_cookie: str | None,
        *,
        timezone: str | None = None,
        current_password: str = "",
        new_password: str | None = None,
    ) -> Credential:
        """Change the given values, and return the credential with the new values.

        A new password ends all other sessions. API keys stay valid.

        Raises:
            ApiError: 400, the current password is wrong; 401, the session ended during the
                request; 403, the caller cannot change the time zone; 429, too many attempts failed.
        """
        if timezone is not None:
            caller.require_administrator()
        password_hash = None
        if new_password is not None:
            current = await self._check(caller, current_password, address, device_cookie)
            password_hash = await self._sessions.in_thread(
                lambda password: credentials.hash_password(password, current.password_hash),
                new_password,
            )
        ended = await self._sessions.database.run(
            lambda session: _change(session, caller, timezone, password_hash)
        )
        self._sessions.forget(ended)
        return await self._sessions.credential(caller)

    async def list_all(self, caller: Principal) -> list[SessionRecord]:
        """Return the caller's own sessions, newest first."""
        person_id = caller.require_person().id
        return await self._sessions.database.run(lambda session: list_sessions(session, person_id))

    async def end(self, caller: Principal, session_id: UUID) -> None:
        """End one of the caller's own sessions.

        Raises:
            ApiError: 404, the caller has no such session.
        """
        person_id = caller.require_person().id
        ended = await self._sessions.database.run(
            lambda session: delete_sessions(session, person_id, only=session_id)
        )
        if not ended:
            raise ApiError(ErrorCode.NOT_FOUND)
        self._sessions.forget(ended)

    async def _check(
        self, caller: Principal, password: str, address: str, device_cookie: str | None
    ) -> LogInRecord:
        """Return the caller if the password is correct. Otherwise, count a failed login attempt."""
        person = caller.require_person()
        if not person.has_password:
            raise invalid_field("currentPassword", _NONE_THERE)
        device = self._sessions.device(device_cookie, person.email)
        known = device.id if device is not None and device.person_id == person.id else None
        origin = Origin(address, known)
        try:
            return await self._sessions.check_password(person.id, person.email, password, origin)
        except ApiError as error:
            if error.code is not ErrorCode.INVALID_CREDENTIALS:
                raise
            # The error is not 401, because the session itself is valid.
            raise invalid_field("currentPassword", "is incorrect") from error


def _change(
    session: Session, caller: Principal, timezone: str | None, password_hash: str | None
) -> list[UUID]:
    """Change the account if the session has not ended. Return the IDs of ended sessions."""
    lock_owner(session, caller.owner_id)
    begun = get_session(session, caller)
    if timezone is not None:
        change_timezone(session, caller.owner_id, timezone)
    if password_hash is None:
        return []
    person = session.get_one(Person, begun.person.id)
    return set_password(session, person, password_hash, except_session=caller.credential_id)
