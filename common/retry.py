"""Computes retry pauses, and counts events for rate limits. No I/O."""

import random as random_numbers
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Pauses that double from the first to the longest pause, with random jitter.

    ``spread`` is the range of factors from which the jitter is drawn. ``bound_seconds`` is the time
    since the first attempt after which no attempt is made, or None for no limit.

    **Source:** https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """

    first_pause_seconds: float = 0.4
    longest_pause_seconds: float = 10.0
    bound_seconds: float | None = None
    spread: tuple[float, float] = (0.5, 1.0)

    def pause_seconds(
        self, failures: int, random: Callable[[], float] = random_numbers.random
    ) -> float:
        """Return the pause after ``failures`` failures (at least 1). ``random`` returns 0 to 1."""
        # A factor of 2**30 means years. The limit keeps the float finite after a long outage.
        pause = self.first_pause_seconds * 2.0 ** min(failures - 1, 30)
        lowest, highest = self.spread
        share = lowest + (highest - lowest) * random()
        return min(self.longest_pause_seconds, min(self.longest_pause_seconds, pause) * share)

    def is_exhausted(self, elapsed_seconds: float) -> bool:
        """Return whether no further attempt should be made."""
        return self.bound_seconds is not None and elapsed_seconds >= self.bound_seconds


@dataclass
class Backoff:
    """The pauses before reconnecting.

    After a connection that lasted for at least ``stable_seconds``, the first pause comes next.
    """

    policy: RetryPolicy
    stable_seconds: float
    random: Callable[[], float] = random_numbers.random
    _failures: int = 0

    def next_pause_seconds(self, lasted_seconds: float) -> float:
        """Return the next pause, after a connection that lasted for ``lasted_seconds``."""
        if lasted_seconds >= self.stable_seconds:
            self._failures = 0
        self._failures += 1
        return self.policy.pause_seconds(self._failures, self.random)


class RateBound:
    """Counts events in a sliding window."""

    def __init__(self, *, limit: int, window_seconds: float) -> None:
        self._limit = limit
        self._window_seconds = window_seconds
        self._times: deque[float] = deque()

    def is_exceeded_by(self, now_seconds: float) -> bool:
        """Count one event now, and return whether the window has more than ``limit`` events."""
        self.count(now_seconds)
        return len(self._times) > self._limit

    def remaining(self, now_seconds: float) -> int:
        """Return the number of further events allowed now."""
        self._drop_past(now_seconds)
        return max(0, self._limit - len(self._times))

    def count(self, now_seconds: float) -> None:
        """Count one event now."""
        self._times.append(now_seconds)
        self._drop_past(now_seconds)

    def _drop_past(self, now_seconds: float) -> None:
        while self._times and self._times[0] <= now_seconds - self._window_seconds:
            self._times.popleft()
