"""Limits of what people are told in an hour, by address and by owner."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from cachetools import LRUCache

from common.retry import RateBound

_WINDOW_SECONDS = 3600.0
_NAMES_SWEPT_AT = 10_000
_HELD_BACK_REMEMBERED = 10_000


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

    def is_last(self, name: str) -> bool:
        """Return whether the message that is about to be sent uses up the hour."""
        return bool(self.limit) and self._remaining(name) - self._in_flight[name] <= 1

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


@dataclass(frozen=True)
class Denial:
    """Why a message may not be sent, in a sentence; ``is_final``: trying again is of no use."""

    sentence: str
    is_final: bool


@dataclass(frozen=True)
class AllowedMessage:
    """A message that may be sent. ``notice`` is what its reader is told of the limits, if any.

    ``accepted`` is called once a server has taken it.
    """

    notice: str | None
    accepted: Callable[[], None]


class HourlyLimits:
    """Two limits together. What they hold back is counted by address, and told with what follows.

    Lives on one event loop.
    """

    def __init__(
        self, *, per_address: int, per_owner: int, messages: str, clock: Callable[[], float]
    ) -> None:
        """Each limit is a number of ``messages`` (their name) an hour, 0: any number.

        ``clock`` returns seconds that only rise.
        """
        self._per_address = HourlyLimit(per_address, clock)
        self._per_owner = HourlyLimit(per_owner, clock)
        self._messages = messages
        self._held_back: LRUCache[str, int] = LRUCache(_HELD_BACK_REMEMBERED)

    def denial(self, owner: str, address: str) -> Denial | None:
        """Return why no further message may be sent now, None where one may."""
        for what, limit, name in self._limits(owner, address):
            quota, messages = limit.quota(name), self._messages
            if quota is Quota.EXHAUSTED:
                self._held_back[address] = self._held_back.get(address, 0) + 1
                sentence = f"The {what} had its {limit.limit} {messages} of this hour already."
                return Denial(sentence, is_final=True)
            if quota is Quota.UNCERTAIN:
                sentence = (
                    f"The {what} may have had its {messages} of this hour: some are under way."
                )
                return Denial(sentence, is_final=False)
        return None

    @contextmanager
    def sending(self, owner: str, address: str) -> Iterator[AllowedMessage]:
        """Count a message as in flight."""
        held_back = self._held_back.get(address, 0)
        notice = self._notice(owner, address, held_back)

        def accepted() -> None:
            self._per_address.accepted(address)
            self._per_owner.accepted(owner)
            if held_back:
                self._held_back[address] = self._held_back.get(address, held_back) - held_back

        with self._per_address.sending(address), self._per_owner.sending(owner):
            yield AllowedMessage(notice, accepted)

    def _notice(self, owner: str, address: str, held_back: int) -> str | None:
        parts = []
        if held_back:
            were = "was" if held_back == 1 else "were"
            parts.append(f"Since the last one {held_back} {were} not sent: too many in an hour.")
        if any(limit.is_last(name) for _, limit, name in self._limits(owner, address)):
            parts.append("This is the last one of this hour; what else comes is not sent.")
        return " ".join(parts) or None

    def _limits(self, owner: str, address: str) -> tuple[tuple[str, HourlyLimit, str], ...]:
        return (("address", self._per_address, address), ("account", self._per_owner, owner))
