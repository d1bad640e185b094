"""Authenticates callers by API key or session cookie, and counts failures."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

import structlog
from cachetools import LRUCache

from api.db.database import Database
from api.errors import ApiError, ErrorCode
from api.limits.limiter import FailedAuthentications
from api.security import credentials, repository
from api.security.lookup import CredentialLookup, UnknownCredentialQueue
from api.security.permissions import ROLE_SCOPES, KeyIdentity, Principal
from api.security.repository import KeyRecord, SessionRecord
from common.errors import TransientError

log = structlog.get_logger()

_SESSION_ENDED = "Your session has ended. Log in again."
_NOTED_KEYS = 10_000
_UNKNOWN_CONCURRENCY = 2
_R = TypeVar("_R", bound=KeyRecord | SessionRecord)


class Authenticator:
    """Authenticates callers."""

    def __init__(
        self,
        database: Database,
        failures: FailedAuthentications,
        *,
        unknown_concurrency: int = _UNKNOWN_CONCURRENCY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``unknown_concurrency`` limits unknown-credential lookups. ``clock`` returns seconds."""
        self._database = database
        self.failures = failures
        self._clock = clock
        queue = UnknownCredentialQueue(unknown_concurrency)
        self._keys = CredentialLookup(database, repository.find_key, queue, clock)
        self._sessions = CredentialLookup(database, repository.find_session, queue, clock)
        self._touched: LRUCache[UUID, float] = LRUCache(_NOTED_KEYS)
        self._tasks: set[asyncio.Task[None]] = set()

    async def authenticate(self, authorization: str | None, address: str) -> Principal:
        """Return the caller that an Authorization header names. Failures count for ``address``.

        Raises:
            ApiError: 401, the key is missing, wrong or expired (with different codes); 429, the
                address has too many failures; 503, too many lookups are waiting.
        """
        key = _bearer(authorization)
        # A mistyped key costs no lookup and does not count as a failure.
        if not credentials.is_api_key(key):
            raise ApiError(ErrorCode.INVALID_CREDENTIALS)
        now = datetime.now(UTC)
        digest = credentials.key_hash(key)
        record = await self._accepted(self._keys, digest, address, lambda found: _key(found, now))
        self._record_use(record, now)
        return Principal(
            record.owner_id,
            record.id,
            record.scopes,
            limits=record.limits,
            key=KeyIdentity(record.name, record.prefix),
        )

    async def authenticate_session(self, token: str, address: str) -> Principal:
        """Return the caller that a session cookie names, with the scopes of the person's role.

        Raises:
            ApiError: the session is invalid. The errors are the same as for an API key.
        """
        if not credentials.is_session_token(token):
            raise ApiError(ErrorCode.INVALID_CREDENTIALS, _SESSION_ENDED)
        digest = credentials.token_hash(token)
        record = await self._accepted(self._sessions, digest, address, _session)
        return Principal(
            record.owner_id,
            record.id,
            ROLE_SCOPES[record.person.role],
            limits=record.limits,
            person=record.person,
        )

    def expect_key(self, key: str) -> None:
        """Trust a new API key, regardless of failures at the caller's address."""
        self._keys.trust(credentials.key_hash(key))

    def expect_session(self, token: str) -> None:
        """Trust a new session, regardless of failures at the caller's address."""
        self._sessions.trust(credentials.token_hash(token))

    def forget(self, credential_id: UUID) -> None:
        """Remove a changed credential from the cache. Other processes reload it within a second."""
        self._keys.forget(credential_id)
        self._sessions.forget(credential_id)

    async def close(self) -> None:
        """Wait for running updates of ``lastUsedAt``."""
        await asyncio.gather(*self._tasks)

    async def _accepted(
        self,
        lookup: CredentialLookup[_R],
        digest: bytes,
        address: str,
        judged: Callable[[_R | None], _R],
    ) -> _R:
        """Return the record of a valid credential. Count a failure for an invalid credential.

        Failures of other clients at the address do not block a credential that was valid before.
        """
        if not lookup.is_trusted(digest):
            await self.failures.check(address)
        found = await lookup.find(digest)
        try:
            record = judged(found)
        except ApiError:
            lookup.distrust(digest)
            await self.failures.record(address)
            raise
        lookup.trust(digest)
        return record

    def _record_use(self, record: KeyRecord, now: datetime) -> None:
        """Update ``lastUsedAt`` in the background, at most once a minute."""
        grain = repository.LAST_USED_GRAIN.total_seconds()
        noted = self._touched.get(record.id)
        if noted is not None and self._clock() - noted < grain:
            return
        self._touched[record.id] = self._clock()
        task = asyncio.create_task(self._touch(record, now))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _touch(self, record: KeyRecord, now: datetime) -> None:
        try:
            await self._database.run(lambda session: repository.touch_key(session, record.id, now))
        except TransientError as error:
            log.warning("api_key_use_not_recorded", key_id=str(record.id), error=str(error))


def _bearer(authorization: str | None) -> str:
    if not authorization:
        raise ApiError(ErrorCode.MISSING_CREDENTIALS)
    scheme, _, credential = authorization.partition(" ")
    if scheme.lower() != "bearer" or not credential.strip():
        raise ApiError(ErrorCode.MISSING_CREDENTIALS)
    return credential.strip()


def _key(record: KeyRecord | None, now: datetime) -> KeyRecord:
    if record is None or not record.enabled:
        raise ApiError(ErrorCode.INVALID_CREDENTIALS)
    if record.expires_at is not None and record.expires_at <= now:
        raise ApiError(ErrorCode.EXPIRED_CREDENTIALS)
    return record


def _session(record: SessionRecord | None) -> SessionRecord:
    if record is None:
        raise ApiError(ErrorCode.INVALID_CREDENTIALS, _SESSION_ENDED)
    if record.expires_at <= datetime.now(UTC):
        raise ApiError(ErrorCode.EXPIRED_CREDENTIALS, _SESSION_ENDED)
    return record
