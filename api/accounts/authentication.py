"""From an Authorization header to the caller."""

import asyncio
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from api.accounts import keys, repository
from api.accounts.models import KeyRecord
from api.db.engine import Database
from api.errors import ApiError, ErrorCode
from api.principal import Principal
from contracts.errors import TransientError

log = structlog.get_logger()

CACHE_SECONDS = 0.8
"""How long a key is believed without asking the database: a revoked one dies within a second."""

_CACHE_ENTRIES = 10_000


@dataclass(frozen=True)
class _Cached:
    hash: bytes
    record: KeyRecord
    until: float


class Authenticator:
    """Knows callers by their keys."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the database of keys; ``clock`` counts seconds."""
        self._database = database
        self._clock = clock
        self._cache: OrderedDict[bytes, _Cached] = OrderedDict()
        self._touched: OrderedDict[bytes, float] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    async def authenticate(self, authorization: str | None) -> Principal:
        """Return the caller that the header stands for.

        Raises:
            ApiError: 401, with the code that says whether it is missing, wrong or expired.
        """
        key = _bearer(authorization)
        if not keys.is_well_formed(key):
            raise ApiError(ErrorCode.INVALID_CREDENTIALS)
        digest = keys.key_hash(key)
        record = await self._record(digest)
        if record is None or not record.enabled:
            raise ApiError(ErrorCode.INVALID_CREDENTIALS)
        now = datetime.now(UTC)
        if record.expires_at is not None and record.expires_at <= now:
            raise ApiError(ErrorCode.EXPIRED_CREDENTIALS)
        self._note_use(digest, record, now)
        return Principal(record.owner_id, record.id, record.scopes)

    async def close(self) -> None:
        """Wait for notes of use that are being written."""
        await asyncio.gather(*self._tasks)

    async def _record(self, digest: bytes) -> KeyRecord | None:
        cached = self._cache.get(digest)
        if cached is not None and cached.until > self._clock():
            return cached.record if hmac.compare_digest(cached.hash, digest) else None
        record = await self._database.run(lambda session: repository.find_key(session, digest))
        if record is None:
            self._cache.pop(digest, None)
            return None
        self._cache[digest] = _Cached(digest, record, self._clock() + CACHE_SECONDS)
        _trim(self._cache)
        return record

    def _note_use(self, digest: bytes, record: KeyRecord, now: datetime) -> None:
        """Write ``lastUsedAt`` at most once a minute, and let no caller wait for it."""
        grain = repository.LAST_USED_GRAIN.total_seconds()
        noted = self._touched.get(digest)
        if noted is not None and self._clock() - noted < grain:
            return
        self._touched[digest] = self._clock()
        _trim(self._touched)
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


def _trim(cache: OrderedDict[bytes, _Cached] | OrderedDict[bytes, float]) -> None:
    while len(cache) > _CACHE_ENTRIES:
        cache.popitem(last=False)
