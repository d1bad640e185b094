"""The time of day and the time that never jumps, read together."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_SLOWER_BY: Final = 0.1
"""Share by which the clock runs slower while the time of day is behind it."""

_MOST_AHEAD_SECONDS: Final = 5.0
"""A clock that is further ahead had better begin anew: tracking takes times that fall back by more
than this for a machine that was set back."""

_YOUNG_SECONDS: Final = 600.0
_MOST_AHEAD_WHILE_YOUNG_SECONDS: Final = 60.0
"""So that a machine that is set back again and again does not end its workers more often: what a
young one is ahead it makes up for in this time."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant: ``unix_ms`` (UTC) to write down, ``seconds`` (monotonic) to measure with."""

    unix_ms: int
    seconds: float

    def later(self, seconds: float) -> "Moment":
        """Return the moment that comes ``seconds`` after this one."""
        return Moment(self.unix_ms + round(seconds * 1000), self.seconds + seconds)


Now = Callable[[], Moment]


class SteadyClock:
    """A clock whose time of day never goes back. Thread-safe.

    Where the machine's clock is set back, capture times would have to stand still until it has
    caught up, and whoever follows a camera would think that no time passes. So this clock runs on,
    a tenth slower, until both agree. A machine that is set forward is followed at once. What is
    too much to make up for in this way is for the worker's owner to end (:func:`is_too_far_ahead`).
    """

    def __init__(
        self,
        unix_seconds: Callable[[], float] = time.time,
        monotonic_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the machine's clocks."""
        self._unix_seconds = unix_seconds
        self._monotonic_seconds = monotonic_seconds
        self._lock = threading.Lock()
        self._last_seconds = monotonic_seconds()
        self._offset_seconds = unix_seconds() - self._last_seconds
        self._ahead_seconds = 0.0

    @property
    def ahead_seconds(self) -> float:
        """How far this clock was ahead of the machine's when it was last read."""
        return self._ahead_seconds

    def __call__(self) -> Moment:
        """Return the present moment."""
        with self._lock:
            seconds = self._monotonic_seconds()
            least = self._offset_seconds - _SLOWER_BY * (seconds - self._last_seconds)
            machine_seconds = self._unix_seconds() - seconds
            self._offset_seconds = max(least, machine_seconds)
            self._ahead_seconds = self._offset_seconds - machine_seconds
            self._last_seconds = seconds
            return Moment(int((seconds + self._offset_seconds) * 1000), seconds)


def is_too_far_ahead(ahead_seconds: float, up_seconds: float) -> bool:
    """Return whether a clock that is ahead of the machine's is to begin anew with its process.

    ``up_seconds`` is how long the process has been running.
    """
    is_young = up_seconds < _YOUNG_SECONDS
    return ahead_seconds > (_MOST_AHEAD_WHILE_YOUNG_SECONDS if is_young else _MOST_AHEAD_SECONDS)
