"""Looks up credentials. Results are cached briefly; unknown credentials are queued."""

import hmac
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from cachetools import LRUCache
from sqlalchemy.orm import Session

from api.db.database import Database
from api.errors import ApiError, ErrorCode
from api.limits.fair_queue import FairQueue, QueueFullError, QueueLimits, current_caller
from api.security.repository import KeyRecord, SessionRecord

CACHE_SECONDS = 0.8
"""Time for which a credential is cached. A revoked credential is rejected within a second."""

UNKNOWN_SECONDS = 2.0
"""Time for which an unknown credential is not looked up again. A new credential is stored before
the API returns it, so clients are unlikely to have tried it."""

_ENTRIES = 10_000
_MAX_WAITING = 500
"""Maximum number of queued lookups: about one second of work for two threads."""

_RETRY_AFTER_SECONDS = 1


_R = TypeVar("_R", bound=KeyRecord | SessionRecord)
_T = TypeVar("_T")


@dataclass(frozen=True)
class _Entry(Generic[_R]):
    digest: bytes
    record: _R
    until: float


class CredentialCache(Generic[_R]):
    """Caches records by the hash of the credential, and the hashes of unknown credentials."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` returns the time in seconds."""
        self._clock = clock
        self._found: LRUCache[bytes, _Entry[_R]] = LRUCache(_ENTRIES)
        # This cache is separate, so that invalid credentials do not evict valid credentials.
        self._unknown: LRUCache[bytes, float] = LRUCache(_ENTRIES)

    def get(self, digest: bytes) -> _R | None:
        """Return the cached record of a credential, or None if no record is cached."""
        entry = self._found.get(digest)
        if entry is None or entry.until <= self._clock():
            return None
        return entry.record if hmac.compare_digest(entry.digest, digest) else None

    def is_unknown(self, digest: bytes) -> bool:
        """Return whether the credential was recently looked up and not found."""
        until = self._unknown.get(digest)
        return until is not None and until > self._clock()

    def put(self, digest: bytes, record: _R | None, asked_at: float) -> None:
        """Cache the result of a lookup that started at ``asked_at``."""
        if record is None:
            self._found.pop(digest, None)
            self._unknown[digest] = asked_at + UNKNOWN_SECONDS
            return
        self._unknown.pop(digest, None)
        self._found[digest] = _Entry(digest, record, asked_at + CACHE_SECONDS)

    def expect(self, digest: bytes) -> None:
        """Stop treating a new credential as unknown."""
        self._unknown.pop(digest, None)

    def forget(self, record_id: UUID) -> None:
        """Remove a changed record from the cache."""
        for digest in [d for d, entry in self._found.items() if entry.record.id == record_id]:
            del self._found[digest]


class UnknownCredentialQueue:
    """Limits concurrent lookups of credentials that were not valid before.

    Lookups are scheduled fairly among client networks, so that invalid credentials from one network
    do not delay other networks. At most ``concurrency`` database threads are used in total.
    """

    def __init__(self, concurrency: int, *, max_waiting: int = _MAX_WAITING) -> None:
        self._queue = FairQueue[Hashable](QueueLimits(concurrency, max_waiting))

    async def run(self, look_up: Callable[[], Awaitable[_T]]) -> _T:
        """Wait for a turn, then return the result of ``look_up``.

        Raises:
            ApiError: 503, too many lookups are waiting.
        """
        try:
            async with self._queue.slot(current_caller(), None):
                return await look_up()
        except QueueFullError as error:
            raise ApiError(
                ErrorCode.SERVICE_BUSY, retry_after_seconds=_RETRY_AFTER_SECONDS
            ) from error


class CredentialLookup(Generic[_R]):
    """Finds the records of one kind of credential."""

    def __init__(
        self,
        database: Database,
        find: Callable[[Session, bytes], _R | None],
        queue: UnknownCredentialQueue,
        clock: Callable[[], float],
    ) -> None:
        """``find`` queries the database. ``clock`` returns the time in seconds."""
        self._database = database
        self._find: Callable[[Session, bytes], _R | None] = find
        self._queue = queue
        self._clock = clock
        self._cache: CredentialCache[_R] = CredentialCache(clock)
        self._trusted: LRUCache[bytes, None] = LRUCache(_ENTRIES)

    def is_trusted(self, digest: bytes) -> bool:
        """Return whether a credential was valid when it was last used."""
        return digest in self._trusted

    def trust(self, digest: bytes) -> None:
        """Mark a credential as valid, so that its lookups are not queued."""
        self._trusted[digest] = None
        self._cache.expect(digest)

    def distrust(self, digest: bytes) -> None:
        """Mark a credential as invalid."""
        self._trusted.pop(digest, None)

    async def find(self, digest: bytes) -> _R | None:
        """Return the record of a credential, or None if the credential is unknown.

        Raises:
            ApiError: 503, too many unknown credentials are waiting for the database.
            TransientError: PostgreSQL is not responding.
        """
        record = self._cache.get(digest)
        if record is not None or self._cache.is_unknown(digest):
            return record
        if self.is_trusted(digest):
            return await self._ask(digest)
        return await self._queue.run(lambda: self._ask(digest))

    def forget(self, record_id: UUID) -> None:
        """Remove a changed record from the cache."""
        self._cache.forget(record_id)

    async def _ask(self, digest: bytes) -> _R | None:
        asked_at = self._clock()
        record = await self._database.run(lambda session: self._find(session, digest))
        self._cache.put(digest, record, asked_at)
        return record
