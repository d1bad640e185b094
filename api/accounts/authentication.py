"""From a key or a session cookie to the caller."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import structlog

from api.accounts import keys, repository, session_tokens
from api.accounts.cache import CredentialCache
from api.accounts.models import KeyRecord, SessionRecord
from api.db.engine import Database
from api.errors import ApiError, ErrorCode
from api.principal import Principal
from api.scopes import ALL_SCOPES
from contracts.errors import TransientError

log = structlog.get_logger()

_SESSION_ENDED = "The session has ended; log in again."
_NOTED_KEYS = 10_000


class Authenticator:
    """Knows callers by their keys and by their sessions."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the database of credentials; ``clock`` counts seconds."""
        self._database = database
        self._clock = clock
        self._keys: CredentialCache[KeyRecord] = CredentialCache(clock)
        self._sessions: CredentialCache[SessionRecord] = CredentialCache(clock)
        self._touched: OrderedDict[UUID, float] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    async def authenticate(self, authorization: str | None) -> Principal:
        """Return the caller that the header Authorization stands for.

        Raises:
            ApiError: 401, with the code that says whether it is missing, wrong or expired.
        """
        key = _bearer(authorization)
        if not keys.is_well_formed(key):
            raise ApiError(ErrorCode.INVALID_CREDENTIALS)
        record = await self._key(keys.key_hash(key))
        if record is None or not record.enabled:
            raise ApiError(ErrorCode.INVALID_CREDENTIALS)
        now = datetime.now(UTC)
        if record.expires_at is not None and record.expires_at <= now:
            raise ApiError(ErrorCode.EXPIRED_CREDENTIALS)
        self._note_use(record, now)
        return Principal(record.owner_id, record.id, record.scopes)

    async def authenticate_session(self, token: str) -> Principal:
        """Return the caller that the session cookie stands for; an owner may do everything.

        Raises:
            ApiError: 401.
        """
        if not session_tokens.is_well_formed(token):
            raise ApiError(ErrorCode.INVALID_CREDENTIALS, _SESSION_ENDED)
        record = await self._session(session_tokens.token_hash(token))
        if record is None:
            raise ApiError(ErrorCode.INVALID_CREDENTIALS, _SESSION_ENDED)
        if record.expires_at <= datetime.now(UTC):
            raise ApiError(ErrorCode.EXPIRED_CREDENTIALS, _SESSION_ENDED)
        return Principal(record.owner_id, record.id, ALL_SCOPES, is_session=True)

    def forget(self, credential_id: UUID) -> None:
        """Believe nothing of a key or session that was changed; other processes take a second."""
        self._keys.forget(credential_id)
        self._sessions.forget(credential_id)

    async def close(self) -> None:
        """Wait for notes of use that are being written."""
        await asyncio.gather(*self._tasks)

    async def _key(self, digest: bytes) -> KeyRecord | None:
        record = self._keys.get(digest)
        if record is None:
            asked_at = self._clock()
            record = await self._database.run(lambda session: repository.find_key(session, digest))
            self._keys.put(digest, record, asked_at)
        return record

    async def _session(self, digest: bytes) -> SessionRecord | None:
        record = self._sessions.get(digest)
        if record is None:
            asked_at = self._clock()
            record = await self._database.run(
                lambda session: repository.find_session(session, digest)
            )
            self._sessions.put(digest, record, asked_at)
        return record

    def _note_use(self, record: KeyRecord, now: datetime) -> None:
        """Write ``lastUsedAt`` at most once a minute, and let no caller wait for it."""
        grain = repository.LAST_USED_GRAIN.total_seconds()
        noted = self._touched.get(record.id)
        if noted is not None and self._clock() - noted < grain:
            return
        self._touched[record.id] = self._clock()
        while len(self._touched) > _NOTED_KEYS:
            self._touched.popitem(last=False)
        task = asyncio.create_task(self._touch(record, now))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _touch(self, record: KeyRecord, now: datetime) -> None:
        try:
            await self._database.run(lambda session: repository.touch_key(session, record.id, now))
        except TransientError as error:
            log.warning("key_use_not_noted", key_id=str(record.id), error=str(error))


def _bearer(authorization: str | None) -> str:
    if not authorization:
        raise ApiError(ErrorCode.MISSING_CREDENTIALS)
    scheme, _, credential = authorization.partition(" ")
    if scheme.lower() != "bearer" or not credential.strip():
        raise ApiError(ErrorCode.MISSING_CREDENTIALS)
    return credential.strip()
