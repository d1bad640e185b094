"""Looks credentials up: cached for a moment, and those the unknown ones through a short queue."""

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
"""The time that a credential is cached: a revoked one dies within a second."""

UNKNOWN_SECONDS = 2.0
"""The time that an unknown credential is not looked up again. One that another process makes is
shown to its owner after it is written, so hardly anybody can have tried it before."""

_ENTRIES = 10_000
_MAX_WAITING = 500
"""About a second's work of two threads."""

_RETRY_AFTER_SECONDS = 1


_R = TypeVar("_R", bound=KeyRecord | SessionRecord)
_T = TypeVar("_T")


@dataclass(frozen=True)
class _Entry(Generic[_R]):
    digest: bytes
    record: _R
    until: float


class CredentialCache(Generic[_R]):
    """Records by the hash of their credential, for a moment each; None: it is unknown."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` counts seconds."""
        self._clock = clock
        self._found: LRUCache[bytes, _Entry[_R]] = LRUCache(_ENTRIES)
        # By themselves, so that a flood of made-up ones drives out none that are good.
        self._unknown: LRUCache[bytes, float] = LRUCache(_ENTRIES)

    def get(self, digest: bytes) -> _R | None:
        """Return what is still believed of a credential."""
        entry = self._found.get(digest)
        if entry is None or entry.until <= self._clock():
            return None
        return entry.record if hmac.compare_digest(entry.digest, digest) else None

    def is_unknown(self, digest: bytes) -> bool:
        """Tell whether the database did not know it a moment ago."""
        until = self._unknown.get(digest)
        return until is not None and until > self._clock()

    def put(self, digest: bytes, record: _R | None, asked_at: float) -> None:
        """Note what the database said to a question of the moment ``asked_at``."""
        if record is None:
            self._found.pop(digest, None)
            self._unknown[digest] = asked_at + UNKNOWN_SECONDS
            return
        self._unknown.pop(digest, None)
        self._found[digest] = _Entry(digest, record, asked_at + CACHE_SECONDS)

    def expect(self, digest: bytes) -> None:
        """Believe no longer that a credential is unknown: it was just made."""
        self._unknown.pop(digest, None)

    def forget(self, record_id: UUID) -> None:
        """Believe nothing more of a record that was changed."""
        for digest in [d for d, entry in self._found.items() if entry.record.id == record_id]:
            del self._found[digest]


class UnknownCredentialQueue:
    """Look-ups of credentials that were not valid before: a few at the same time, in turns.

    Client networks take turns, so that made-up credentials from one network delay no other. All
    networks together use no more database threads than these.
    """

    def __init__(self, concurrency: int, *, max_waiting: int = _MAX_WAITING) -> None:
        self._queue = FairQueue[Hashable](QueueLimits(concurrency, max_waiting))

    async def run(self, look_up: Callable[[], Awaitable[_T]]) -> _T:
        """Return the result of ``look_up``, called when it is its turn.

        Raises:
            ApiError: 503, too many are waiting.
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
        """``find`` asks the database; ``clock`` counts seconds."""
        self._database = database
        self._find: Callable[[Session, bytes], _R | None] = find
        self._queue = queue
        self._clock = clock
        self._cache: CredentialCache[_R] = CredentialCache(clock)
        self._trusted: LRUCache[bytes, None] = LRUCache(_ENTRIES)

    def is_trusted(self, digest: bytes) -> bool:
        """Tell whether a credential was good when it was last seen."""
        return digest in self._trusted

    def trust(self, digest: bytes) -> None:
        """Note that a credential is good; it waits in no queue of unknown ones from now on."""
        self._trusted[digest] = None
        self._cache.expect(digest)

    def distrust(self, digest: bytes) -> None:
        """Note that it is not, or no longer."""
        self._trusted.pop(digest, None)

    async def find(self, digest: bytes) -> _R | None:
        """Return the record of a credential, None where there is none.

        Raises:
            ApiError: 503, too many wait for the database with credentials that are not known.
            TransientError: PostgreSQL does not answer.
        """
        record = self._cache.get(digest)
        if record is not None or self._cache.is_unknown(digest):
            return record
        if self.is_trusted(digest):
            return await self._ask(digest)
        return await self._queue.run(lambda: self._ask(digest))

    def forget(self, record_id: UUID) -> None:
        """Believe nothing more of a record that was changed."""
        self._cache.forget(record_id)

    async def _ask(self, digest: bytes) -> _R | None:
        asked_at = self._clock()
        record = await self._database.run(lambda session: self._find(session, digest))
        self._cache.put(digest, record, asked_at)
        return record
