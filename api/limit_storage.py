"""Where limits are counted: in the memory of this process, or in a store that processes share."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import structlog
from limits.aio.storage import RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter
from limits.errors import StorageError
from pydantic import SecretStr
from redis.asyncio import BlockingConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from api.limit_memory import WindowMemory

log = structlog.get_logger()

STORE_SECONDS = 0.5
"""How long a request waits for the shared store at most."""

_AWAY_SECONDS = 2.0
_CONNECTIONS = 50
_PREFIX = "platestream-limits"
_Book = TypeVar("_Book")
_Answer = TypeVar("_Answer")


class LimitStore:
    """Windows, and who is blocked."""

    def __init__(
        self, storage: WindowMemory | RedisStorage, close: Callable[[], Awaitable[None]]
    ) -> None:
        """Made by :meth:`in_memory` and :meth:`shared`."""
        self._storage = storage
        self.windows = MovingWindowRateLimiter(storage)
        self.close = close
        """Let go of it."""

    @classmethod
    def in_memory(cls) -> "LimitStore":
        """Return a store that this process has for itself."""
        return cls(WindowMemory(), _nothing_to_close)

    @classmethod
    def shared(cls, url: SecretStr) -> "LimitStore":
        """Return the store at a ``redis://`` or ``rediss://`` address; the first call connects.

        Its calls raise limits.errors.StorageError where it is away.
        """
        address = url.get_secret_value()
        pool = BlockingConnectionPool.from_url(
            address,
            max_connections=_CONNECTIONS,
            timeout=STORE_SECONDS,
            socket_timeout=STORE_SECONDS,
            socket_connect_timeout=STORE_SECONDS,
            # A request that waits for a store is answered by this process's own count instead.
            retry=Retry(NoBackoff(), 0),
        )
        # limits takes a pool, but its types do not say so.
        options: dict[str, Any] = {"connection_pool": pool}
        storage = RedisStorage(
            f"async+{address}",
            wrap_exceptions=True,
            implementation="redispy",
            key_prefix=_PREFIX,
            **options,
        )
        return cls(storage, pool.disconnect)

    async def blocked_until(self, caller: str) -> float | None:
        """Return when a caller's block ends (Unix s), None where there is none."""
        key = _block_key(caller)
        if not await self._storage.get(key):
            return None
        return await self._storage.get_expiry(key)

    async def block(self, caller: str, seconds: int) -> None:
        """Block a caller for so long; a block that stands is not made longer."""
        await self._storage.incr(_block_key(caller), seconds)

    async def begin(self, name: str, seconds: int) -> int:
        """Note that one more of ``name`` is under way; return how many there are.

        What is never ended is forgotten after so many seconds.
        """
        return await self._storage.incr(_under_way_key(name), seconds)

    async def end(self, name: str, seconds: int) -> None:
        """Note that one of them is over."""
        await self._storage.incr(_under_way_key(name), seconds, -1)


class Outage:
    """Whether the shared store is away: asked again every few seconds, told of once each time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with a store that is there."""
        self._clock = clock
        self._is_away = False
        self._ask_again_at = 0.0

    def is_on(self) -> bool:
        """Tell whether the store need not be asked now."""
        return self._is_away and self._clock() < self._ask_again_at

    def begin(self, error: Exception) -> None:
        """Note that the store did not answer."""
        if not self._is_away:
            log.warning("limit_store_away", error=repr(error.__cause__ or error))
        self._is_away = True
        self._ask_again_at = self._clock() + _AWAY_SECONDS

    def end(self) -> None:
        """Note that it did."""
        if self._is_away:
            log.info("limit_store_back")
        self._is_away = False


class Shared(Generic[_Book]):
    """Two books of the same kind: one in a store that processes share, one of this process.

    While the shared store is away each process counts by itself: limits are looser then, by as many
    processes as there are, but nobody is refused for it and none goes unlimited.
    """

    def __init__(self, own: _Book, shared: _Book | None) -> None:
        """Without ``shared`` this process counts alone."""
        self._own = own
        self._shared = shared
        self._outage = Outage()

    async def ask(self, question: Callable[[_Book], Awaitable[_Answer]]) -> _Answer:
        """Return what the shared book says, or the own one where the store does not answer."""
        if self._shared is None or self._outage.is_on():
            return await question(self._own)
        try:
            async with asyncio.timeout(STORE_SECONDS):
                answer = await question(self._shared)
        except (StorageError, TimeoutError) as error:
            self._outage.begin(error)
            return await question(self._own)
        self._outage.end()
        return answer


async def _nothing_to_close() -> None:
    pass


def _block_key(caller: str) -> str:
    return f"block/{caller}"


def _under_way_key(name: str) -> str:
    return f"under-way/{name}"
