"""The stores that count limits: the memory of this process, and one that processes share."""

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
"""Longest wait of a request for the shared store."""

_SWEEP_SECONDS = 60.0
_RETRY_SECONDS = 2.0
_CONNECTIONS = 50
_PREFIX = "platestream-limits"
_COUNT_REQUEST = files(__package__).joinpath("count_request.lua").read_text(encoding="utf-8")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Counted:
    """The outcome of counting a request.

    ``blocked_until`` is Unix s, None: the caller is not blocked. ``refused`` is the number of the
    limit that refuses it, None: it passes. ``remaining`` and ``reset_at`` (Unix s) are those of the
    limit that refuses it, or else of the reported one.
    """

    blocked_until: float | None = None
    refused: int | None = None
    remaining: int = 0
    reset_at: float = 0.0


@dataclass(frozen=True)
class LimitWindow:
    """A limit and the names of what it counts."""

    limit: RateLimitItem
    names: tuple[str, ...]

    @property
    def key(self) -> str:
        """The name of the window in the store."""
        return self.limit.key_for(*self.names)


@dataclass(frozen=True)
class ActiveItem:
    """A thing under way: the number that counts it, how long that holds, and its value then."""

    key: str
    seconds: int
    number: int


@dataclass
class _Window:
    """The times (Unix s) of what counts, oldest first; each counts for ``seconds``."""

    seconds: float
    times: deque[float] = field(default_factory=deque)

    def forget_past(self, now: float) -> None:
        while self.times and self.times[0] < now - self.seconds:
            self.times.popleft()


@dataclass
class _Count:
    """A number that holds until a moment (Unix s)."""

    number: int
    until: float


class WindowMemory(Storage, MovingWindowSupport):
    """A storage for ``limits`` that lives on one event loop.

    The library's own starts a task with each request, which calls a thread for each window of any
    caller: with a thousand callers that was the larger part of a request's cost.
    """

    STORAGE_SCHEME = ["async+windows"]

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__()
        self._windows: dict[str, _Window] = {}
        self._counts: dict[str, _Count] = {}
        self._sweep_at = 0.0

    @property
    def base_exceptions(self) -> type[Exception]:
        """No call of it fails."""
        return ValueError

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count ``amount`` in a window of ``expiry`` seconds, unless that is too much."""
        now = time.time()
        self._sweep(now)
        window = self._windows.get(key)
        if window is None:
            window = self._windows[key] = _Window(expiry)
        window.forget_past(now)
        if len(window.times) + amount > limit:
            return False
        window.times.extend([now] * amount)
        return True

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """Return since when (Unix s) a window counts, and how much is in it."""
        now = time.time()
        window = self._windows.get(key)
        if window is None:
            return now, 0
        window.forget_past(now)
        return (window.times[0] if window.times else now), len(window.times)

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add to a number, which holds ``expiry`` seconds from when it was none; return it."""
        now = time.time()
        self._sweep(now)
        count = self._counts.get(key)
        if count is None or count.until <= now:
            count = self._counts[key] = _Count(0, now + expiry)
        count.number += amount
        return count.number

    async def get(self, key: str) -> int:
        """Return a number; 0 where there is none."""
        count = self._counts.get(key)
        return 0 if count is None or count.until <= time.time() else count.number

    async def get_expiry(self, key: str) -> float:
        """Return until when (Unix s) a number holds."""
        count = self._counts.get(key)
        return time.time() if count is None else count.until

    async def clear(self, key: str) -> None:
        """Forget a window or number."""
        self._windows.pop(key, None)
        self._counts.pop(key, None)

    async def check(self) -> bool:
        """Tell that it is well."""
        return True

    async def reset(self) -> int:
        """Forget everything; return how much that was."""
        forgotten = len(self._windows) + len(self._counts)
        self._windows.clear()
        self._counts.clear()
        return forgotten

    def _sweep(self, now: float) -> None:
        """Forget callers that have been silent, once a minute."""
        if now < self._sweep_at:
            return
        self._sweep_at = now + _SWEEP_SECONDS
        for window in self._windows.values():
            window.forget_past(now)
        self._windows = {key: window for key, window in self._windows.items() if window.times}
        self._counts = {key: count for key, count in self._counts.items() if count.until > now}


class LimitStore:
    """Windows, and who is blocked: in the memory of this process."""

    def __init__(self, storage: WindowMemory | RedisStorage | None = None) -> None:
        """``storage`` is the memory of this process unless it is given."""
        self._storage = storage or WindowMemory()
        self.windows = MovingWindowRateLimiter(self._storage)

    async def count(self, caller: str, windows: Sequence[LimitWindow], reported: int) -> Counted:
        """Count a request in all windows, up to the first that is full, unless it is blocked."""
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

    async def begin(self, name: str, seconds: int) -> ActiveItem:
        """Note that one more of ``name`` is under way, which takes no longer than so many seconds.

        What is never ended is forgotten after twice as long. Each span of time has a number of its
        own, which outlives what began in it: an end never meets a number that was reset.
        """
        span = int(time.time() // seconds)
        key = _active_key(name, span)
        number = await self._storage.incr(key, 2 * seconds)
        before = await self._storage.get(_active_key(name, span - 1))
        return ActiveItem(key, 2 * seconds, number + before)

    async def end(self, begun: ActiveItem) -> None:
        """Note that it is over."""
        await self._storage.incr(begun.key, begun.seconds, -1)

    async def remember(self, name: str, seconds: int) -> None:
        """Remember a name for so long at least, and twice as long at most."""
        await self._storage.incr(_known_key(name, int(time.time() // seconds)), 2 * seconds)

    async def remembers(self, name: str, seconds: int) -> bool:
        """Tell whether a name is remembered, with the same ``seconds``."""
        span = int(time.time() // seconds)
        for each in (span, span - 1):
            if await self._storage.get(_known_key(name, each)):
                return True
        return False


class SharedLimitStore(LimitStore):
    """The same in a store that processes share; a request is one question to it.

    Its calls raise limits.errors.StorageError where it is unavailable.
    """

    def __init__(self, url: SecretStr) -> None:
        """``url`` begins with ``redis://`` or ``rediss://``; the first call connects."""
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

    async def count(self, caller: str, windows: Sequence[LimitWindow], reported: int) -> Counted:
        """Count a request in all windows, up to the first that is full, unless it is blocked."""
        now = time.time()
        keys = [_block_key(caller), *(window.key for window in windows)]
        limits = [window.limit for window in windows]
        sizes = [size for limit in limits for size in (limit.amount, limit.get_expiry())]
        named = [f"{_PREFIX}:{key}" for key in keys]
        try:
            said = await self._script(named, [now, reported + 1, *sizes])
        except RedisError as error:
            raise StorageError(error) from error
        blocked_ms, refused, used, oldest = said
        if blocked_ms or not limits:
            return Counted(blocked_until=now + blocked_ms / 1000 if blocked_ms else None)
        limit = limits[reported if refused < 0 else refused]
        left, reset_at = max(0, limit.amount - used), float(oldest) + limit.get_expiry()
        return Counted(None, None if refused < 0 else refused, left, reset_at)

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.disconnect()


class SharedOrOwn:
    """Two stores: one that processes share, and the memory of this process.

    While the shared store is unavailable each process counts by itself: limits are looser then, by
    as many processes as there are, but nobody is refused for it and none goes unlimited. It is
    asked again every few seconds.
    """

    def __init__(self, shared: LimitStore | None) -> None:
        """Without ``shared`` this process counts alone."""
        self._own = LimitStore()
        self._shared = shared
        self._is_unavailable = False
        self._ask_again_at = 0.0

    async def ask(self, question: Callable[[LimitStore], Awaitable[_Answer]]) -> _Answer:
        """Return the shared store's answer, or the own one's where the store does not answer."""
        is_out = self._is_unavailable and time.monotonic() < self._ask_again_at
        if self._shared is None or is_out:
            return await question(self._own)
        try:
            async with asyncio.timeout(STORE_SECONDS):
                answer = await question(self._shared)
        except (StorageError, TimeoutError) as error:
            if not self._is_unavailable:
                log.warning("limit_store_away", error=repr(error.__cause__ or error))
            self._is_unavailable, self._ask_again_at = True, time.monotonic() + _RETRY_SECONDS
            return await question(self._own)
        if self._is_unavailable:
            log.info("limit_store_back")
            self._is_unavailable = False
        return answer


def _block_key(caller: str) -> str:
    return f"block/{caller}"


def _active_key(name: str, span: int) -> str:
    return f"under-way/{name}/{span}"


def _known_key(name: str, span: int) -> str:
    return f"known/{name}/{span}"
