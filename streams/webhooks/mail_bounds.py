"""How many letters may go out within an hour, by address or by owner."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from streams.common.retry import RateBound

_WINDOW_SECONDS = 3600.0
_NAMES_SWEPT_AT = 10_000


class Room(StrEnum):
    """Whether there is room for another letter."""

    FREE = "free"
    UNSURE = "unsure"
    """Letters under way may take what is left."""
    NONE = "none"


class HourlyBound:
    """Counts letters by name in a sliding hour; only what was accepted counts for good."""

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        """``limit`` is for each name, 0 is none; ``clock`` returns seconds that only rise."""
        self.limit = limit
        self._clock = clock
        self._accepted: defaultdict[str, RateBound] = defaultdict(self._new_bound)
        self._under_way: Counter[str] = Counter()

    def room(self, name: str) -> Room:
        """Return whether another letter may be sent now."""
        if not self.limit:
            return Room.FREE
        remaining = self._remaining(name)
        if remaining == 0:
            return Room.NONE
        return Room.UNSURE if self._under_way[name] >= remaining else Room.FREE

    @contextmanager
    def sending(self, name: str) -> Iterator[None]:
        """Count a letter as under way."""
        self._under_way[name] += 1
        try:
            yield
        finally:
            self._under_way[name] -= 1
            if not self._under_way[name]:
                del self._under_way[name]

    def accepted(self, name: str) -> None:
        """Count a letter that was sent."""
        if self.limit:
            self._accepted[name].count(self._clock())

    def _remaining(self, name: str) -> int:
        if len(self._accepted) > _NAMES_SWEPT_AT:
            # Whoever has room for all again is as good as new.
            now = self._clock()
            for known in [k for k, v in self._accepted.items() if v.remaining(now) == self.limit]:
                del self._accepted[known]
        return self._accepted[name].remaining(self._clock())

    def _new_bound(self) -> RateBound:
        return RateBound(limit=self.limit, window_seconds=_WINDOW_SECONDS)
