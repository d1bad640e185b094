"""Logs people in and out."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from api.accounts.repository import (
    LogInRecord,
    OwnerAccount,
    find_log_ins,
    get_log_in,
    get_owner,
    lock_owner,
    log_in_record,
)
from api.actors import Action, announce_person
from api.audit.actions import ActionSubject, current_action
from api.audit.audit_buffer import AuditBuffer
from api.db.database import Database
from api.db.people_tables import Person
from api.errors import ApiError, ErrorCode
from api.limits.fair_queue import QueueLimits, current_caller
from api.limits.fair_threads import FairThreads
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.security import credentials, repository
from api.security.authentication import Authenticator
from api.security.credentials import matching_hashes
from api.security.devices import Device, Devices
from api.security.permissions import ROLE_SCOPES, PersonIdentity, Principal, Scope
from api.security.repository import KeyRecord, SessionRecord
from api.sessions.attempts import LoginAttempts, Origin
from api.sessions.credential import Credential, NewSession
from api.sessions.methods import LogInMethods

_REFUSED = "The email address or password is incorrect."
_TOO_BUSY = "Too many concurrent logins. Try again shortly."
# A comparison takes 64 MiB and 50 ms of CPU. Known and unknown clients have one thread each.
_COMPARISONS = QueueLimits(at_once=1, waiting=20)
_COMPARISON_WAIT_SECONDS = 5.0
_SESSIONS_PER_PERSON = 100


class _ClaimLogInError(ApiError):
    """A login with an unproven address, which succeeds but counts as a failed attempt.

    The password was also compared with the password of the person who has proven the address. If
    such logins did not count, attackers could test guesses by setting each as their own password.
    """

    def __init__(self, found: LogInRecord) -> None:
        super().__init__(ErrorCode.INVALID_CREDENTIALS)
        self.found = found


class Sessions:
    """Logs people in and out."""

    def __init__(
        self,
        database: Database,
        authenticator: Authenticator,
        attempts: LoginAttempts,
        devices: Devices,
        limits: OwnerLimits,
        audit: AuditBuffer,
        methods: LogInMethods,
        *,
        lifetime: timedelta,
    ) -> None:
        """``lifetime`` is the time after which a session expires, whether or not it is used."""
        self.methods = methods
        self._audit = audit
        self._database = database
        self._limits = limits
        self._authenticator = authenticator
        self._attempts = attempts
        self._devices = devices
        self._lifetime = lifetime
        # Known devices and addresses have a separate thread, which other clients cannot block.
        self._threads = _password_threads("passwords")
        self._known_threads = _password_threads("known-passwords")

    async def log_in(
        self, email: str, password: str, address: str, device_cookie: str | None = None
    ) -> NewSession:
        """Return a new session.

        Several accounts can use an email address. The person who has proven the address takes
        precedence; otherwise, the password decides. ``device_cookie`` is from an earlier login, and
        can be forged. The response time does not reveal who uses the address.

        Raises:
            ApiError: 401, the credentials are wrong; 403, password login is disabled; 429, too many
                attempts have failed.
        """
        self.methods.require_password()
        email = email.strip().lower()
        found = await self._found(email, password, address, self.device(device_cookie, email))
        await self._attempts.remember(_identifiers(email, found), address)
        return await self._begun(lambda session: found, device_cookie)

    async def begin(
        self, prove: Callable[[Session], Person], device_cookie: str | None
    ) -> NewSession:
        """Return a new session for a person who was authenticated without a password.

        ``prove`` returns the person, in the transaction in which the session is created.
        """

        def find(session: Session) -> LogInRecord:
            return log_in_record(prove(session))

        return await self._begun(find, device_cookie)

    async def credential(self, caller: Principal) -> Credential:
        """Return the caller's own credential.

        Raises:
            ApiError: 401, the credential was revoked or ended during the request.
        """
        return await self._database.run(lambda session: self._read(session, caller))

    async def check_password(
        self,
        person_id: UUID,
        email: str,
        password: str,
        origin: Origin,
        *,
        is_audited: bool = True,
    ) -> LogInRecord:
        """Return a person if the password is correct. A wrong password counts against them.

        If ``is_audited`` is true, a wrong password is logged in the account's audit log.

        Raises:
            ApiError: 401, the password is wrong; 429, too many attempts have failed.
        """
        async with self._attempts.attempt(str(person_id), origin) as is_known:
            person = await self._database.run(lambda session: get_log_in(session, person_id))
            people = [] if person is None else [person]
            found = await self._matching(people, password, email, is_known=is_known)
            if found is None:
                if is_audited:
                    self._record_refusal(person, email)
                raise ApiError(ErrorCode.INVALID_CREDENTIALS, _REFUSED)
            return found

    def device(self, cookie: str | None, email: str) -> Device | None:
        """Return the device in a cookie if ``email`` recently logged in on the device, or None."""
        return self._devices.known(cookie, email)

    @property
    def database(self) -> Database:
        """The database of accounts and sessions."""
        return self._database

    async def in_thread(self, work: Callable[[str], str], text: str) -> str:
        """Run expensive ``work`` on ``text`` in the thread for known clients. Return the result.

        Use only for callers who are logged in or have an invitation.

        Raises:
            ApiError: 429, too many calls are waiting.
        """
        return await self._known_threads.run(current_caller(), work, text)

    def forget(self, session_ids: Iterable[UUID]) -> None:
        """Remove ended sessions from the cache. Other processes reject the sessions within 1 s."""
        for session_id in session_ids:
            self._authenticator.forget(session_id)

    async def log_out(self, session_id: UUID) -> None:
        """End a session."""
        await self._database.run(lambda session: repository.delete_session(session, session_id))
        self._authenticator.forget(session_id)

    async def sweep(self) -> int:
        """Delete expired sessions, and return their number."""
        now = datetime.now(UTC)
        return await self._database.run(
            lambda session: repository.delete_expired_sessions(session, now)
        )

    async def close(self) -> None:
        """Wait for running comparisons to finish."""
        for threads in (self._threads, self._known_threads):
            await asyncio.to_thread(threads.close)

    async def _begun(
        self, find: Callable[[Session], LogInRecord], device_cookie: str | None
    ) -> NewSession:
        made = await self._database.run(
            lambda session: self._insert(session, find(session), device_cookie)
        )
        self._authenticator.expect_session(made.token)
        return made

    async def _found(
        self, email: str, password: str, address: str, device: Device | None
    ) -> LogInRecord:
        """Return the person with this address and password. Try a known device's person first."""
        if device is None:
            claim = await self._known_claim(email, password, Origin(address))
            return claim or await self._of_address(email, password, Origin(address))
        origin = Origin(address, device.id)
        try:
            return await self.check_password(device.person_id, email, password, origin)
        except ApiError as error:
            if error.code is not ErrorCode.INVALID_CREDENTIALS:
                raise
        try:
            return await self._of_address(email, password, Origin(address), device.person_id)
        except ApiError as elsewhere:
            if elsewhere.code is not ErrorCode.RATE_LIMITED:
                raise
            # Attempts from elsewhere must not block this device. The next attempt can succeed.
            raise ApiError(ErrorCode.INVALID_CREDENTIALS, _REFUSED) from elsewhere

    async def _known_claim(self, email: str, password: str, origin: Origin) -> LogInRecord | None:
        """Return a person with this unproven address who logged in from ``origin`` before, or None.

        The password is compared only for such people, and failures count only for them.
        """
        if not await self._attempts.remembers(_claimed(email), origin.address):
            return None
        people = await self._database.run(lambda session: find_log_ins(session, email))
        for person_id in (str(one.person_id) for one in people if not one.is_proven):
            if await self._attempts.remembers(person_id, origin.address):
                # This is not audited, as the password may be that of a person in another account.
                with suppress(ApiError):
                    return await self.check_password(
                        UUID(person_id), email, password, origin, is_audited=False
                    )
        return None

    async def _of_address(
        self, email: str, password: str, origin: Origin, audited: UUID | None = None
    ) -> LogInRecord:
        """Return the person with this address and password. Do not audit ``audited`` again."""
        try:
            async with self._attempts.attempt(email, origin) as is_known:
                found, holder = await self._person(email, password, is_known=is_known)
                # Unproven addresses are not audited, or the account would learn of other accounts.
                if found != holder and holder is not None and holder.person_id != audited:
                    self._record_refusal(holder, email)
                if found is None:
                    raise ApiError(ErrorCode.INVALID_CREDENTIALS, _REFUSED)
                if not found.is_proven:
                    raise _ClaimLogInError(found)
                return found
        except _ClaimLogInError as claim:
            return claim.found

    async def _person(
        self, email: str, password: str, *, is_known: bool
    ) -> tuple[LogInRecord | None, LogInRecord | None]:
        """Return the person with this address and password, and the one who proved the address."""
        people = await self._database.run(lambda session: find_log_ins(session, email))
        found = await self._matching(people, password, email, is_known=is_known)
        return found, next((one for one in people if one.is_proven), None)

    async def _matching(
        self, people: Sequence[LogInRecord], password: str, email: str, *, is_known: bool
    ) -> LogInRecord | None:
        """Return the first of ``people`` with the password, or None. Both take the same time."""
        hashes = [one.password_hash for one in people if one.password_hash]
        if is_known:
            caller = people[0].owner_id if people else email
            right = await self._known_threads.run(caller, matching_hashes, password, hashes)
        else:
            right = await self._threads.run(current_caller(), matching_hashes, password, hashes)
        return next((one for one in people if one.password_hash in right), None)

    def _record_refusal(self, found: LogInRecord | None, email: str) -> None:
        """Record a login with a wrong password in the audit log of the account."""
        if found is None:
            return
        subject = ActionSubject("person", found.person_id, email)
        self._audit.add(current_action(found.owner_id, Action.PASSWORD_REFUSED, subject))

    def _insert(
        self, session: Session, found: LogInRecord, device_cookie: str | None
    ) -> NewSession:
        token = credentials.new_session_token()
        own = lock_owner(session, found.owner_id).limits
        person = session.get(Person, found.person_id)
        # The password may have been changed or removed since the comparison.
        if person is None or not person.enabled or person.password_hash != found.password_hash:
            raise ApiError(ErrorCode.INVALID_CREDENTIALS, _REFUSED)
        announce_person(session, person.id, person.email)
        now = datetime.now(UTC)
        person.last_log_in_at = now
        record = repository.insert_session(
            session,
            person,
            credentials.token_hash(token),
            now + self._lifetime,
            max_sessions=_SESSIONS_PER_PERSON,
        )
        owner, scopes = get_owner(session, found.owner_id), ROLE_SCOPES[record.person.role]
        credential = self._credential(owner, record, scopes, own, record.person)
        device = self.device(device_cookie, person.email)
        cookie = self._devices.cookie(device, person.email, person.id)
        return NewSession(credential, record, token, cookie)

    def _read(self, session: Session, caller: Principal) -> Credential:
        owner = get_owner(session, caller.owner_id)
        if caller.is_session:
            begun = repository.get_session(session, caller)
            scopes = ROLE_SCOPES[begun.person.role]
            return self._credential(owner, begun, scopes, caller.limits, begun.person)
        key = repository.get_key(session, caller.owner_id, caller.credential_id)
        if key is None:
            raise ApiError(ErrorCode.INVALID_CREDENTIALS)
        return self._credential(owner, key, caller.scopes, caller.limits, None)

    def _credential(
        self,
        owner: OwnerAccount,
        record: SessionRecord | KeyRecord,
        scopes: frozenset[Scope],
        own_limits: Mapping[str, int],
        person: PersonIdentity | None,
    ) -> Credential:
        limits = {limit.value: self._limits.size(limit, own_limits) for limit in OwnerLimit}
        return Credential(record.id, owner, scopes, person, record.expires_at, limits)


def _claimed(email: str) -> str:
    return f"{email}\nclaimed"


def _identifiers(email: str, found: LogInRecord) -> Sequence[str]:
    """Return the names for which the address of a login is remembered.

    A login with an unproven address is not remembered for the person who has proven the address.
    """
    return (email,) if found.is_proven else (_claimed(email), str(found.person_id))


def _password_threads(name: str) -> FairThreads:
    return FairThreads(
        name, _COMPARISONS, wait_seconds=_COMPARISON_WAIT_SECONDS, too_many=_TOO_BUSY
    )
