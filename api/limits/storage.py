"""Stores rate limit counters in memory, or in a store that several processes share."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, TypeVar

import structlog
from limits import RateLimitItem
from limits.aio.storage import MovingWindowSupport, RedisStorage, Storage
from limits.aio.strategies import MovingWindowRateLimiter
from limits.errors import StorageError
from pydantic import SecretStr
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

log = structlog.get_logger()

STORE_SECONDS = 0.5
"""Maximum time that a request waits for the shared store."""

_SWEEP_SECONDS = 60.0
_RETRY_SECONDS = 2.0
_CONNECTIONS = 50
_PREFIX = "platestream-limits"
_COUNT_REQUEST = files(__package__).joinpath("count_request.lua").read_text(encoding="utf-8")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Counted:
    """The outcome of counting a request.

    ``blocked_until`` (Unix s) is None if the caller is not blocked. ``refused`` is the index of the
    rejecting limit, or None if the request passes. ``remaining`` and ``reset_at`` (Unix s) belong
    to the rejecting limit, or to the reported limit if the request passes.
    """

    blocked_until: float | None = None
    refused: int | None = None
    remaining: int = 0
    reset_at: float = 0.0


@dataclass(frozen=True)
class LimitWindow:
    """A limit, and the names that identify the counted requests."""

    limit: RateLimitItem
    names: tuple[str, ...]

    @property
    def key(self) -> str:
        """The key of the window in the store."""
        return self.limit.key_for(*self.names)


@dataclass(frozen=True)
class ActiveItem:
    """The counter of an active operation: key, lifetime in seconds, and value."""

    key: str
    seconds: int
    number: int


@dataclass
class _Window:
    """Times (Unix s) of counted requests, oldest first. Each time counts for ``seconds``."""

    seconds: float
    times: deque[float] = field(default_factory=deque)

    def drop_expired(self, now: float) -> None:
        while self.times and self.times[0] < now - self.seconds:
            self.times.popleft()


@dataclass
class _Count:
    """A number that is valid until a time (Unix s)."""

    number: int
    until: float


class WindowMemory(Storage, MovingWindowSupport):
    """In-memory storage for the library ``limits``, for one event loop.

    With each request, the library's own storage starts a task that uses a thread for every window
    of all callers. With a thousand callers, this task was most of the cost of a request.
    """

    STORAGE_SCHEME = ["async+windows"]

    def __init__(self) -> None:
        """Create an empty storage."""
        super().__init__()
        self._windows: dict[str, _Window] = {}
        self._counts: dict[str, _Count] = {}
        self._sweep_at = 0.0

    @property
    def base_exceptions(self) -> type[Exception]:
        """The error type of the storage. No method raises it."""
        return ValueError

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count ``amount`` requests. Return False and count none if the total exceeds ``limit``."""
        now = time.time()
        self._sweep(now)
        window = self._windows.get(key)
        if window is None:
            window = self._windows[key] = _Window(expiry)
        window.drop_expired(now)
        if len(window.times) + amount > limit:
            return False
        window.times.extend([now] * amount)
        return True

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """Return the oldest time (Unix s) in a window (now if empty), and the number of times."""
        now = time.time()
        window = self._windows.get(key)
        if window is None:
            return now, 0
        window.drop_expired(now)
        return (window.times[0] if window.times else now), len(window.times)

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add to a number, which expires ``expiry`` seconds after creation, and return the sum."""
        now = time.time()
        self._sweep(now)
        count = self._counts.get(key)
        if count is None or count.until <= now:
            count = self._counts[key] = _Count(0, now + expiry)
        count.number += amount
        return count.number

    async def get(self, key: str) -> int:
        """Return a number, or 0 if the number does not exist."""
        count = self._counts.get(key)
        return 0 if count is None or count.until <= time.time() else count.number

    async def get_expiry(self, key: str) -> float:
        """Return the time (Unix s) at which a number expires, or now if it does not exist."""
        count = self._counts.get(key)
        return time.time() if count is None else count.until

    async def clear(self, key: str) -> None:
        """Delete a window or number."""
        self._windows.pop(key, None)
        self._counts.pop(key, None)

    async def check(self) -> bool:
        """Return True: the memory is always available."""
        return True

    async def reset(self) -> int:
        """Delete everything. Return the number of windows and numbers deleted."""
        deleted = len(self._windows) + len(self._counts)
        self._windows.clear()
        self._counts.clear()
        return deleted

    def _sweep(self, now: float) -> None:
        """Once a minute, delete expired windows and numbers."""
        if now < self._sweep_at:
            return
        self._sweep_at = now + _SWEEP_SECONDS
        for window in self._windows.values():
            window.drop_expired(now)
        self._windows = {key: window for key, window in self._windows.items() if window.times}
        self._counts = {key: count for key, count in self._counts.items() if count.until > now}


class LimitStore:
    """Windows and blocks, by default in memory of this process."""

    def __init__(self, storage: WindowMemory | RedisStorage | None = None) -> None:
        """Without ``storage``, use the memory of this process."""
        self._storage = storage or WindowMemory()
        self.windows = MovingWindowRateLimiter(self._storage)

    async def count(self, caller: str, windows: Sequence[LimitWindow], reported: int) -> Counted:
        """Count a request up to the first full window, unless blocked. Return the outcome."""
        until = await self.blocked_until(caller)
        if until is not None or not windows:
            return Counted(blocked_until=until)
        refused = None
        for number, window in enumerate(windows):
            if refused is None and not await self.windows.hit(window.limit, *window.names):
                refused = number
        named = windows[reported if refused is None else refused]
        found = await self.windows.get_window_stats(named.limit, *named.names)
        return Counted(None, refused, found.remaining, found.reset_time)

    async def close(self) -> None:
        """Close the store."""

    async def blocked_until(self, caller: str) -> float | None:
        """Return the end (Unix s) of a caller's block, or None if the caller is not blocked."""
        key = _block_key(caller)
        if not await self._storage.get(key):
            return None
        return await self._storage.get_expiry(key)

    async def block(self, caller: str, seconds: int) -> None:
        """Block a caller for ``seconds``. Does not extend an existing block."""
        await self._storage.incr(_block_key(caller), seconds)

    async def begin(self, name: str, seconds: int) -> ActiveItem:
        """Count one more active operation of ``name``. Return the counter for :meth:`end`.

        Operations take at most ``seconds``, and expire after twice that time. Each time span has a
        counter that outlives the operations, so that ``end`` never decrements a reset counter.
        """
        span = int(time.time() // seconds)
        key = _span_key("under-way", name, span)
        number = await self._storage.incr(key, 2 * seconds)
        before = await self._storage.get(_span_key("under-way", name, span - 1))
        return ActiveItem(key, 2 * seconds, number + before)

    async def end(self, begun: ActiveItem) -> None:
        """Count one fewer active operation."""
        await self._storage.incr(begun.key, begun.seconds, -1)

    async def remember(self, name: str, seconds: int) -> None:
        """Remember a name for at least ``seconds``, and at most twice as long."""
        await self._storage.incr(_span_key("known", name, int(time.time() // seconds)), 2 * seconds)

    async def remembers(self, name: str, seconds: int) -> bool:
        """Return whether a name is remembered. ``seconds`` must match :meth:`remember`."""
        span = int(time.time() // seconds)
        for each in (span, span - 1):
            if await self._storage.get(_span_key("known", name, each)):
                return True
        return False


class SharedLimitStore(LimitStore):
    """Windows and blocks in a store that processes share. Counting a request takes one call.

    All methods raise limits.errors.StorageError if the store is unavailable.
    """

    def __init__(self, url: SecretStr) -> None:
        """``url`` begins with ``redis://`` or ``rediss://``. The first call connects."""
        address = url.get_secret_value()
        self._pool = BlockingConnectionPool.from_url(
            address,
            max_connections=_CONNECTIONS,
            timeout=STORE_SECONDS,
            socket_timeout=STORE_SECONDS,
            socket_connect_timeout=STORE_SECONDS,
            # If a call fails, requests are counted in memory of this process, without a retry.
            retry=Retry(NoBackoff(), 0),
        )
        # The library accepts a pool, but its type annotations do not allow it.
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

    async def count(self, caller: str, windows: Sequence[LimitWindow], reported: int) -> Counted:
        """Count a request up to the first full window, unless blocked. Return the outcome."""
        now = time.time()
        keys = [_block_key(caller), *(window.key for window in windows)]
        limits = [window.limit for window in windows]
        sizes = [size for limit in limits for size in (limit.amount, limit.get_expiry())]
        named = [f"{_PREFIX}:{key}" for key in keys]
        try:
            result = await self._script(named, [now, reported + 1, *sizes])
        except RedisError as error:
            raise StorageError(error) from error
        blocked_ms, refused, used, oldest = result
        if blocked_ms or not limits:
            return Counted(blocked_until=now + blocked_ms / 1000 if blocked_ms else None)
        limit = limits[reported if refused < 0 else refused]
        left, reset_at = max(0, limit.amount - used), float(oldest) + limit.get_expiry()
        return Counted(None, None if refused < 0 else refused, left, reset_at)

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.disconnect()


class SharedOrOwn:
    """The shared store, with the memory of this process as a fallback.

    While the shared store is unavailable, each process counts separately. With N processes, limits
    are then up to N times as high, but requests are neither rejected nor unlimited. The shared
    store is tried again every few seconds.
    """

    def __init__(self, shared: LimitStore | None) -> None:
        """Without ``shared``, use only the memory of this process."""
        self._own = LimitStore()
        self._shared = shared
        self._is_unavailable = False
        self._ask_again_at = 0.0

    async def ask(self, question: Callable[[LimitStore], Awaitable[_Answer]]) -> _Answer:
        """Return the result from the shared store, or from memory if the store is unavailable."""
        is_out = self._is_unavailable and time.monotonic() < self._ask_again_at
        if self._shared is None or is_out:
            return await question(self._own)
        try:
            async with asyncio.timeout(STORE_SECONDS):
                answer = await question(self._shared)
        except (StorageError, TimeoutError) as error:
            if not self._is_unavailable:
                log.warning("limit_store_unavailable", error=repr(error.__cause__ or error))
            self._is_unavailable, self._ask_again_at = True, time.monotonic() + _RETRY_SECONDS
            return await question(self._own)
        if self._is_unavailable:
            log.info("limit_store_recovered")
            self._is_unavailable = False
        return answer


def _block_key(caller: str) -> str:
    return f"block/{caller}"


def _span_key(kind: str, name: str, span: int) -> str:
    return f"{kind}/{name}/{span}"
