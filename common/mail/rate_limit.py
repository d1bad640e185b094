"""Limits messages to people per hour, per address and per account."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cachetools import LRUCache

from common.retry import RateBound

_WINDOW_SECONDS = 3600.0
_NAMES_SWEPT_AT = 10_000
_HELD_BACK_REMEMBERED = 10_000

_Name = tuple[str, str]
"""The name of a limit, and the address or account to which the limit applies."""


@dataclass(frozen=True)
class Denial:
    """The reason why a message must not be sent. If ``is_final``, do not retry."""

    sentence: str
    is_final: bool


@dataclass(frozen=True)
class AllowedMessage:
    """A message that can be sent. ``warning`` is a notice about limits to include, if any.

    Call ``accepted`` once a server has accepted the message.
    """

    warning: str | None
    accepted: Callable[[], None]


class HourlyLimits:
    """Limits messages per address and per account in a sliding hour. Accepted messages count.

    Suppressed messages are counted per address, and the next message reports their number. Runs on
    one event loop.
    """

    def __init__(
        self, *, per_address: int, per_owner: int, messages: str, clock: Callable[[], float]
    ) -> None:
        """Each limit is a number per hour; 0: unlimited. ``messages`` is the noun for sentences.

        ``clock`` must be monotonic, in seconds.
        """
        self._limits = {"address": per_address, "account": per_owner}
        self._messages = messages
        self._clock = clock
        self._accepted: dict[_Name, RateBound] = {}
        self._in_flight: Counter[_Name] = Counter()
        self._held_back: LRUCache[str, int] = LRUCache(_HELD_BACK_REMEMBERED)

    def denial(self, owner: str, address: str) -> Denial | None:
        """Return why a message cannot be sent now, or None if the message can be sent."""
        messages = self._messages
        for name in _names(owner, address):
            what, remaining = name[0], self._remaining(name)
            if remaining == 0:
                self._held_back[address] = self._held_back.get(address, 0) + 1
                limit = self._limits[what]
                sentence = f"The {what} has reached its limit of {limit} {messages} per hour."
                return Denial(sentence, is_final=True)
            if self._in_flight[name] >= remaining:
                sentence = f"The {what} may reach its hourly limit with the {messages} being sent."
                return Denial(sentence, is_final=False)
        return None

    @contextmanager
    def sending(self, owner: str, address: str) -> Iterator[AllowedMessage]:
        """Count a message as in flight during the block."""
        names, held_back = _names(owner, address), self._held_back.get(address, 0)
        warning = self._warning(names, held_back)

        def accepted() -> None:
            for name in names:
                self._count(name)
            if held_back:
                self._held_back[address] = self._held_back.get(address, held_back) - held_back

        self._in_flight.update(names)
        try:
            yield AllowedMessage(warning, accepted)
        finally:
            self._in_flight.subtract(names)
            # Drop counts of zero.
            self._in_flight = +self._in_flight

    def _warning(self, names: tuple[_Name, ...], held_back: int) -> str | None:
        parts = []
        if held_back:
            were = "message was" if held_back == 1 else "messages were"
            parts.append(f"{held_back} {were} not sent because of the hourly limit.")
        if any(self._remaining(name) - self._in_flight[name] <= 1 for name in names):
            parts.append("The hourly limit is reached. Further messages will not be sent.")
        return " ".join(parts) or None

    def _remaining(self, name: _Name) -> float:
        limit, bound = self._limits[name[0]], self._accepted.get(name)
        if not limit:
            return math.inf
        return limit if bound is None else bound.remaining(self._clock())

    def _count(self, name: _Name) -> None:
        limit, now = self._limits[name[0]], self._clock()
        if not limit:
            return
        if len(self._accepted) > _NAMES_SWEPT_AT:
            # An address or account with an unused limit needs no entry.
            kept = self._accepted.items()
            self._accepted = {k: v for k, v in kept if v.remaining(now) < self._limits[k[0]]}
        if name not in self._accepted:
            self._accepted[name] = RateBound(limit=limit, window_seconds=_WINDOW_SECONDS)
        self._accepted[name].count(now)


def _names(owner: str, address: str) -> tuple[_Name, ...]:
    return ("address", address), ("account", owner)
