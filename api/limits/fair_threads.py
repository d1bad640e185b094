"""Runs blocking work in fairly shared threads, and limits the CPU time of each caller."""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, TypeVar

from cachetools import LRUCache

from api.errors import ApiError, ErrorCode
from api.limits.fair_queue import FairQueue, QueueFullError, QueueLimits

_RETRY_AFTER_SECONDS = 1
_MAX_CALLERS = 10_000
_WINDOW_SECONDS = 60.0
_P = ParamSpec("_P")
_T = TypeVar("_T")


class FairThreads:
    """Runs one kind of work in threads. Callers are scheduled fairly."""

    def __init__(
        self,
        name: str,
        limits: QueueLimits,
        *,
        wait_seconds: float | None = None,
        too_many: str | None = None,
    ) -> None:
        """``too_many`` is the error message if a caller gets no turn within ``wait_seconds``."""
        self._threads = ThreadPoolExecutor(limits.at_once, thread_name_prefix=name)
        self._queue = FairQueue[Hashable](limits)
        self._wait_seconds = wait_seconds
        self._too_many = too_many

    async def run(
        self, caller: Hashable, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Return the result of ``work``, run in a thread when it is the caller's turn.

        A turn lasts until the thread has finished, even if the caller is cancelled earlier.

        Raises:
            ApiError: 429, the caller got no turn, and ``too_many`` is set.
            QueueFullError: the caller got no turn.
        """
        await self._acquire(caller)
        try:
            future = self._threads.submit(work, *args, **kwargs)
        except BaseException:
            self._queue.release(caller)
            raise
        try:
            return await asyncio.wrap_future(future)
        finally:
            if future.done():
                self._queue.release(caller)
            else:
                loop = asyncio.get_running_loop()
                future.add_done_callback(lambda _: self._end_later(loop, caller))

    def close(self, *, wait: bool = True, cancel_futures: bool = False) -> None:
        """Stop the threads when running work has finished, and block until then if ``wait``."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)

    async def _acquire(self, caller: Hashable) -> None:
        try:
            await self._queue.acquire(caller, self._wait_seconds)
        except QueueFullError as error:
            if self._too_many is None:
                raise
            raise ApiError(
                ErrorCode.RATE_LIMITED, self._too_many, retry_after_seconds=_RETRY_AFTER_SECONDS
            ) from error

    def _end_later(self, loop: asyncio.AbstractEventLoop, caller: Hashable) -> None:
        # The thread calls this function. No turns start after the event loop has closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._queue.release, caller)


class TimeBudget:
    """Limits the CPU seconds per minute of each caller. Thread-safe."""

    def __init__(
        self, seconds: float, used_up: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``used_up`` is the error message if no time is left. ``clock`` returns seconds."""
        self._seconds = seconds
        self._used_up = used_up
        self._clock = clock
        self._windows: LRUCache[Hashable, tuple[float, float]] = LRUCache(_MAX_CALLERS)
        self._lock = threading.Lock()

    def require(self, caller: Hashable) -> None:
        """Check that a caller has CPU time left in this minute.

        Raises:
            ApiError: 429, no CPU time is left.
        """
        with self._lock:
            until, used = self._window(caller)
        if used >= self._seconds:
            wait = max(1, math.ceil(until - self._clock()))
            raise ApiError(ErrorCode.RATE_LIMITED, self._used_up, retry_after_seconds=wait)

    def spend(self, caller: Hashable, seconds: float) -> None:
        """Count CPU time of a caller."""
        with self._lock:
            until, used = self._window(caller)
            self._windows[caller] = until, used + seconds

    def _window(self, caller: Hashable) -> tuple[float, float]:
        """Return the end of the caller's minute, and the seconds used in it."""
        now = self._clock()
        until, used = self._windows.get(caller, (0.0, 0.0))
        return (until, used) if until > now else (now + _WINDOW_SECONDS, 0.0)
