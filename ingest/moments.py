"""The time of day and the time that never jumps, read together."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant: ``unix_ms`` (UTC) to write down, ``seconds`` (monotonic) to measure with."""

    unix_ms: int
    seconds: float

    def later(self, seconds: float) -> "Moment":
        """Return the moment that comes ``seconds`` after this one."""
        return Moment(self.unix_ms + round(seconds * 1000), self.seconds + seconds)


Now = Callable[[], Moment]


def now() -> Moment:
    """Return the present moment."""
    return Moment(time.time_ns() // 1_000_000, time.monotonic())
