"""Limits of e-mails an hour, by address or by owner."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from common.retry import RateBound

_WINDOW_SECONDS = 3600.0
_NAMES_SWEPT_AT = 10_000


class Quota(StrEnum):
    """The answer to a request for one more message."""

    AVAILABLE = "available"
    UNCERTAIN = "uncertain"
    """Messages in flight may take what is left."""
    EXHAUSTED = "exhausted"


class HourlyLimit:
    """Counts messages by name in a sliding hour; only accepted ones count for good."""

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        """``limit`` is for each name, 0: no limit; ``clock`` returns seconds that only rise."""
        self.limit = limit
        self._clock = clock
        self._accepted: defaultdict[str, RateBound] = defaultdict(self._new_bound)
        self._in_flight: Counter[str] = Counter()

    def quota(self, name: str) -> Quota:
        """Return whether another message may be sent now."""
        if not self.limit:
            return Quota.AVAILABLE
        remaining = self._remaining(name)
        if remaining == 0:
            return Quota.EXHAUSTED
        return Quota.UNCERTAIN if self._in_flight[name] >= remaining else Quota.AVAILABLE

    @contextmanager
    def sending(self, name: str) -> Iterator[None]:
        """Count a message as in flight."""
        self._in_flight[name] += 1
        try:
            yield
        finally:
            self._in_flight[name] -= 1
            if not self._in_flight[name]:
                del self._in_flight[name]

    def accepted(self, name: str) -> None:
        """Count a message that the server accepted."""
        if self.limit:
            self._accepted[name].count(self._clock())

    def _remaining(self, name: str) -> int:
        if len(self._accepted) > _NAMES_SWEPT_AT:
            # A name with its whole quota back needs no entry.
            now = self._clock()
            for known in [k for k, v in self._accepted.items() if v.remaining(now) == self.limit]:
                del self._accepted[known]
        return self._accepted[name].remaining(self._clock())

    def _new_bound(self) -> RateBound:
        return RateBound(limit=self.limit, window_seconds=_WINDOW_SECONDS)
