"""What can be done with sessions."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from api.accounts import repository, session_tokens
from api.accounts.authentication import Authenticator
from api.accounts.models import LogInRecord, OwnerAccount, SessionRecord
from api.accounts.passwords import password_matches, unknown_hash
from api.db.engine import Database
from api.errors import ApiError, ErrorCode
from api.sessions.attempts import LoginAttempts

_REFUSED = "The e-mail address or the password is not right."
_TOO_BUSY = "Too many people log in at once; wait, then try again."
# One comparison takes 64 MiB and a core for some 50 ms: a crowd of them may not starve the rest.
_COMPARISONS_AT_ONCE = 2
_COMPARISONS_WAITING = 20
_SESSIONS_PER_OWNER = 100


@dataclass(frozen=True, repr=False)
class NewSession:
    """A session just made: the only moment at which its token exists."""

    owner: OwnerAccount
    record: SessionRecord
    token: str


class Sessions:
    """Logs owners in and out."""

    def __init__(
        self,
        database: Database,
        authenticator: Authenticator,
        attempts: LoginAttempts,
        *,
        lifetime: timedelta,
    ) -> None:
        """``lifetime`` is how long a session lasts, whether it is used or not."""
        self._database = database
        self._authenticator = authenticator
        self._attempts = attempts
        self._lifetime = lifetime
        self._threads = ThreadPoolExecutor(_COMPARISONS_AT_ONCE, thread_name_prefix="passwords")
        self._comparing = 0

    async def log_in(self, email: str, password: str, address: str) -> NewSession:
        """Return a new session.

        Takes as long for an account that does not exist as for a wrong password.

        Raises:
            ApiError: 401 for either, 429 for too many attempts.
        """
        email = email.strip().lower()
        async with self._attempts.attempt(email, address):
            owner = await self._owner(email, password)
        return await self._database.run(lambda session: self._insert(session, owner))

    async def log_out(self, session_id: UUID) -> None:
        """End a session."""
        await self._database.run(lambda session: repository.delete_session(session, session_id))
        self._authenticator.forget(session_id)

    async def sweep(self) -> int:
        """Forget sessions that have expired; return how many there were."""
        now = datetime.now(UTC)
        return await self._database.run(
            lambda session: repository.delete_expired_sessions(session, now)
        )

    async def close(self) -> None:
        """Let comparisons end."""
        await asyncio.to_thread(self._threads.shutdown)

    async def _owner(self, email: str, password: str) -> OwnerAccount:
        found = await self._database.run(lambda session: repository.find_log_in(session, email))
        is_right = await self._matches(password, found)
        if found is None or not is_right:
            raise ApiError(ErrorCode.INVALID_CREDENTIALS, _REFUSED)
        return found.owner

    async def _matches(self, password: str, found: LogInRecord | None) -> bool:
        if self._comparing >= _COMPARISONS_WAITING:
            raise ApiError(ErrorCode.RATE_LIMITED, _TOO_BUSY, retry_after_seconds=1)
        self._comparing += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, _compare, password, found
            )
        finally:
            self._comparing -= 1

    def _insert(self, session: Session, owner: OwnerAccount) -> NewSession:
        token = session_tokens.new_token()
        record = repository.add_session(
            session,
            owner.id,
            session_tokens.token_hash(token),
            datetime.now(UTC) + self._lifetime,
            keep=_SESSIONS_PER_OWNER,
        )
        return NewSession(owner, record, token)


def _compare(password: str, found: LogInRecord | None) -> bool:
    return password_matches(password, unknown_hash() if found is None else found.password_hash)
