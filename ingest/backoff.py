"""How long to wait before a lost camera is tried again."""

from collections.abc import Callable
from dataclasses import dataclass

_GOOD_SECONDS = 30.0
"""A connection that gave frames for this long makes the next wait a short one again."""

_JITTER = 0.25
"""Share by which a wait is shortened or lengthened, so that cameras behind one switch that was
restarted do not all come at once."""


@dataclass
class Backoff:
    """Waits that double from ``min_seconds`` to ``max_seconds``, each spread by a quarter.

    ``random`` gives numbers in 0..1.
    """

    min_seconds: float
    max_seconds: float
    random: Callable[[], float]
    _failures: int = 0

    def next_wait_seconds(self, good_seconds: float) -> float:
        """Return how long to wait now, after a connection that gave frames for ``good_seconds``."""
        if good_seconds >= _GOOD_SECONDS:
            self._failures = 0
        # The exponent is bounded so that it cannot overflow after weeks of failures.
        doubled = self.min_seconds * 2.0 ** min(self._failures, 30)
        self._failures += 1
        spread = 1 + _JITTER * (2 * self.random() - 1)
        return min(self.max_seconds, min(self.max_seconds, doubled) * spread)
