"""Windows of limits in the memory of this process."""

import time
from collections import deque
from dataclasses import dataclass, field

from limits.aio.storage import MovingWindowSupport, Storage

_SWEEP_SECONDS = 60.0


@dataclass
class _Window:
    """When what counts came (Unix s), oldest first; each counts for so many seconds."""

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
    caller: with a thousand callers that was most of what a request cost.
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
