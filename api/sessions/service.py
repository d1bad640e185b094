"""What can be done with sessions."""

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
from api.threads import FewThreads

_REFUSED = "The e-mail address or the password is not right."
_TOO_BUSY = "Too many people log in at once; wait, then try again."
# One comparison takes 64 MiB and a core for some 50 ms: a crowd of them may not starve the rest.
_COMPARISONS_AT_ONCE = 2
_COMPARISONS = 20
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
        self._threads = FewThreads(
            "passwords", at_once=_COMPARISONS_AT_ONCE, places=_COMPARISONS, too_many=_TOO_BUSY
        )

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
        await self._threads.close()

    async def _owner(self, email: str, password: str) -> OwnerAccount:
        found = await self._database.run(lambda session: repository.find_log_in(session, email))
        with self._threads.place():
            is_right = await self._threads.run(_compare, password, found)
        if found is None or not is_right:
            raise ApiError(ErrorCode.INVALID_CREDENTIALS, _REFUSED)
        return found.owner

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
