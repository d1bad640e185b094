"""When to try again. Pure."""

import random
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Exponential pauses with full jitter, up to a bound.

    ``bound_seconds`` is the time from the first try after which there is no other one; ``None``
    means never to give up.

    **Source:** https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """

    first_pause_seconds: float = 0.2
    longest_pause_seconds: float = 10.0
    bound_seconds: float | None = None

    def pause_seconds(self, failures: int) -> float:
        """Return how long to wait after that many failures (1 or more)."""
        # 2**30 pauses are years: the clamp keeps the float finite after a long outage.
        ceiling = self.first_pause_seconds * 2.0 ** min(failures, 30)
        return random.uniform(0.5, 1.0) * min(ceiling, self.longest_pause_seconds)

    def is_exhausted(self, elapsed_seconds: float) -> bool:
        """Return whether the bound has passed."""
        return self.bound_seconds is not None and elapsed_seconds >= self.bound_seconds


class RateBound:
    """Counts events in a sliding window."""

    def __init__(self, *, limit: int, window_seconds: float) -> None:
        self._limit = limit
        self._window_seconds = window_seconds
        self._times: deque[float] = deque()

    def is_exceeded_by(self, now_seconds: float) -> bool:
        """Count one event now and return whether there were more than ``limit`` in the window."""
        self.count(now_seconds)
        return len(self._times) > self._limit

    def remaining(self, now_seconds: float) -> int:
        """Return how many more may be counted now; counts nothing."""
        self._drop_past(now_seconds)
        return max(0, self._limit - len(self._times))

    def count(self, now_seconds: float) -> None:
        """Count one event now."""
        self._times.append(now_seconds)
        self._drop_past(now_seconds)

    def _drop_past(self, now_seconds: float) -> None:
        while self._times and self._times[0] <= now_seconds - self._window_seconds:
            self._times.popleft()
