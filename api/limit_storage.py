"""Where limits are counted: in the memory of this process, or in a store that processes share."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Generic, TypeVar

import structlog
from limits import RateLimitItem
from limits.aio.storage import RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter
from limits.errors import StorageError
from pydantic import SecretStr
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from api.limit_memory import WindowMemory

log = structlog.get_logger()

STORE_SECONDS = 0.5
"""How long a request waits for the shared store at most."""

_AWAY_SECONDS = 2.0
_CONNECTIONS = 50
_PREFIX = "platestream-limits"
_COUNT_REQUEST = files(__package__).joinpath("count_request.lua").read_text(encoding="utf-8")
_Book = TypeVar("_Book")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Counted:
    """What came of a request.

    ``blocked_until`` is Unix s, None: the caller is not blocked. ``refused`` is the number of the
    limit that refuses it, None: it passes. ``remaining`` and ``reset_at`` (Unix s) are those of the
    limit that refuses it, or else of the last one.
    """

    blocked_until: float | None = None
    refused: int | None = None
    remaining: int = 0
    reset_at: float = 0.0


@dataclass(frozen=True)
class UnderWay:
    """Something that is under way: the number it is in, how long that holds, and what it was."""

    key: str
    seconds: int
    number: int


class LimitStore:
    """Windows, and who is blocked: in the memory of this process."""

    def __init__(self, storage: WindowMemory | RedisStorage | None = None) -> None:
        """Take where it is kept, if that is not this process."""
        self._storage = storage or WindowMemory()
        self.windows = MovingWindowRateLimiter(self._storage)

    async def count(self, caller: str, limits: Sequence[RateLimitItem]) -> Counted:
        """Count a request in all windows of a caller, up to the first that is full."""
        until = await self.blocked_until(caller)
        if until is not None or not limits:
            return Counted(blocked_until=until)
        for number, limit in enumerate(limits):
            if not await self.windows.hit(limit, caller):
                found = await self.windows.get_window_stats(limit, caller)
                return Counted(None, number, found.remaining, found.reset_time)
        found = await self.windows.get_window_stats(limits[-1], caller)
        return Counted(None, None, found.remaining, found.reset_time)

    async def close(self) -> None:
        """Let go of it."""

    async def blocked_until(self, caller: str) -> float | None:
        """Return when a caller's block ends (Unix s), None where there is none."""
        key = _block_key(caller)
        if not await self._storage.get(key):
            return None
        return await self._storage.get_expiry(key)

    async def block(self, caller: str, seconds: int) -> None:
        """Block a caller for so long; a block that stands is not made longer."""
        await self._storage.incr(_block_key(caller), seconds)

    async def begin(self, name: str, seconds: int) -> UnderWay:
        """Note that one more of ``name`` is under way, which takes no longer than so many seconds.

        What is never ended is forgotten after twice as long. Each span of time has a number of its
        own, which outlives what began in it: an end never meets a number that has begun anew.
        """
        span = int(time.time() // seconds)
        key = _under_way_key(name, span)
        number = await self._storage.incr(key, 2 * seconds)
        before = await self._storage.get(_under_way_key(name, span - 1))
        return UnderWay(key, 2 * seconds, number + before)

    async def end(self, begun: UnderWay) -> None:
        """Note that it is over."""
        await self._storage.incr(begun.key, begun.seconds, -1)


class SharedLimitStore(LimitStore):
    """The same in a store that processes share; a request is one question to it.

    Its calls raise limits.errors.StorageError where it is away.
    """

    def __init__(self, url: SecretStr) -> None:
        """Take a ``redis://`` or ``rediss://`` address; the first call connects."""
        address = url.get_secret_value()
        self._pool = BlockingConnectionPool.from_url(
            address,
            max_connections=_CONNECTIONS,
            timeout=STORE_SECONDS,
            socket_timeout=STORE_SECONDS,
            socket_connect_timeout=STORE_SECONDS,
            # A request that waits for a store is answered by this process's own count instead.
            retry=Retry(NoBackoff(), 0),
        )
        # limits takes a pool, but its types do not say so.
        options: dict[str, Any] = {"connection_pool": self._pool}
        super().__init__(
            RedisStorage(
                f"async+{address}",
                wrap_exceptions=True,
                implementation="redispy",
                key_prefix=_PREFIX,
                **options,
            )
        )
        self._script = Redis(connection_pool=self._pool).register_script(_COUNT_REQUEST)

    async def count(self, caller: str, limits: Sequence[RateLimitItem]) -> Counted:
        """Count a request in all windows of a caller, up to the first that is full."""
        now = time.time()
        keys = [_block_key(caller), *(limit.key_for(caller) for limit in limits)]
        sizes = [size for limit in limits for size in (limit.amount, limit.get_expiry())]
        try:
            said = await self._script([f"{_PREFIX}:{key}" for key in keys], [now, *sizes])
        except RedisError as error:
            raise StorageError(error) from error
        blocked_ms, refused, used, oldest = said
        if blocked_ms or not limits:
            return Counted(blocked_until=now + blocked_ms / 1000 if blocked_ms else None)
        told = limits[refused]
        return Counted(
            refused=None if refused < 0 else refused,
            remaining=max(0, told.amount - used),
            reset_at=float(oldest) + told.get_expiry(),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.disconnect()


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


def _block_key(caller: str) -> str:
    return f"block/{caller}"


def _under_way_key(name: str, span: int) -> str:
    return f"under-way/{name}/{span}"
