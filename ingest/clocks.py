"""Clocks: the time of day that never jumps back, and the capture time of a stream's frames."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_SLOWER_BY: Final = 0.1
"""Share by which the clock runs slower while the time of day is behind it."""

_MAX_AHEAD_SECONDS: Final = 5.0
"""A clock that is further ahead had better restart: tracking takes times that fall back by more
than this for a machine that was set back."""

_YOUNG_SECONDS: Final = 600.0
_MAX_AHEAD_WHILE_YOUNG_SECONDS: Final = 60.0
"""So that a machine that is set back again and again does not end its workers more often: what a
young one is ahead it makes up for in this time."""


@dataclass(frozen=True, slots=True)
class Instant:
    """One instant: ``unix_ms`` (UTC) to write down, ``seconds`` (monotonic) to measure with."""

    unix_ms: int
    seconds: float

    def later(self, seconds: float) -> "Instant":
        """Return the moment that comes ``seconds`` after this one."""
        return Instant(self.unix_ms + round(seconds * 1000), self.seconds + seconds)


Clock = Callable[[], Instant]


class MonotonicWallClock:
    """A clock whose time of day never goes back. Thread-safe.

    Where the machine's clock is set back, capture times would have to stand still until it has
    caught up, and the stages that follow a camera would think that no time passes. So this clock
    runs on, a tenth slower, until both agree. A machine that is set forward is followed
    immediately. Where it is too far ahead for that, the worker has to be restarted
    (:func:`is_too_far_ahead`).
    """

    def __init__(
        self,
        unix_seconds: Callable[[], float] = time.time,
        monotonic_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._unix_seconds = unix_seconds
        self._monotonic_seconds = monotonic_seconds
        self._lock = threading.Lock()
        self._last_seconds = monotonic_seconds()
        self._offset_seconds = unix_seconds() - self._last_seconds
        self._ahead_seconds = 0.0

    @property
    def ahead_seconds(self) -> float:
        """The lead of this clock over the machine's when it was last read."""
        return self._ahead_seconds

    def __call__(self) -> Instant:
        """Return the present moment."""
        with self._lock:
            seconds = self._monotonic_seconds()
            minimum_seconds = self._offset_seconds - _SLOWER_BY * (seconds - self._last_seconds)
            machine_seconds = self._unix_seconds() - seconds
            self._offset_seconds = max(minimum_seconds, machine_seconds)
            self._ahead_seconds = self._offset_seconds - machine_seconds
            self._last_seconds = seconds
            return Instant(int((seconds + self._offset_seconds) * 1000), seconds)


def is_too_far_ahead(ahead_seconds: float, up_seconds: float) -> bool:
    """Return whether a clock so far ahead of the machine's needs a restart of its process.

    ``up_seconds`` is how long the process has been running.
    """
    is_young = up_seconds < _YOUNG_SECONDS
    return ahead_seconds > (_MAX_AHEAD_WHILE_YOUNG_SECONDS if is_young else _MAX_AHEAD_SECONDS)


TICK_DELAY_MS: Final = 2_000
"""Without frames a camera's clock follows the wall clock this far behind, so that frames that
were only held up on their way keep their place."""


class Timeline:
    """The clock of one camera at one worker, as published on the frames topic: it never falls."""

    def __init__(self, start_ms: int) -> None:
        """Begin at ``start_ms`` (Unix ms, UTC)."""
        self.last_ms = start_ms

    def frame(self, capture_ms: int) -> int:
        """Return the time to give to a frame: later than everything before it."""
        self.last_ms = max(capture_ms, self.last_ms + 1)
        return self.last_ms

    def tick(self, seen_ms: int, now_ms: int) -> int:
        """Return the time of a tick, when there is no frame to send.

        ``seen_ms`` is the capture time of the latest frame that came, sent or not.
        """
        self.last_ms = max(self.last_ms, seen_ms, now_ms - TICK_DELAY_MS)
        return self.last_ms

    def held_back(self, settled_ms: int) -> int:
        """Return the time of a tick while frames are held back that came after ``settled_ms``."""
        self.last_ms = max(self.last_ms, settled_ms)
        return self.last_ms

    def disconnected(self, now_ms: int) -> int:
        """Return the time of a tick once the connection is over: no older frame can come."""
        self.last_ms = max(self.last_ms, now_ms)
        return self.last_ms


_BUCKET_MS: Final = 15_000
"""Arrivals are compared over one to two such spans: long enough to meet an undelayed frame, short
enough to follow a camera whose clock runs 100 ppm off (3 ms)."""

_JUMP_MS: Final = 10_000
"""Further from its neighbours than this is a new time line, not a delay."""

_BACK_MS: Final = 100
"""A stream whose time goes back by more than this has restarted."""

_MAX_TRANSPORT_MS: Final = 2_000
"""A longer way than this means that the camera's clock is wrong."""


class CaptureClock:
    """Capture times of one connection.

    Frames are late by a varying delay and never early, so the smallest difference between arrival
    and stream time over the last half minute ties the two clocks together; renewing it all the time
    also follows the drift between them. Where the camera sends its own time (RTCP sender report),
    the way from camera to here is taken off, if it is plausible.

    **Source:** RFC 3550, section 6.4.1 (sender reports), for the camera's time.
    """

    def __init__(self) -> None:
        """Start without any knowledge of the stream."""
        self._offset_ms: float | None = None
        self._low_ms = 0.0
        self._earlier_low_ms = 0.0
        self._bucket_end_ms = 0.0
        self._last_stream_ms = 0.0
        self._transport_ms: float | None = None
        self.lag_ms = 0.0
        """Delay of the last frame beyond its least delayed neighbours."""

    def capture_ms(
        self,
        stream_seconds: float | None,
        arrival_ms: int,
        sender_start_ms: float | None = None,
        backlog_ms: float = 0.0,
    ) -> int:
        """Return when (Unix ms, UTC) the frame was taken; never after ``arrival_ms``.

        ``stream_seconds`` is the frame's time within its stream, ``sender_start_ms`` the Unix time
        that the camera gives to the stream's zero; a frame may be ``backlog_ms`` late since others
        were decoded before it. Times can fall back by a little when the clocks
        are tied again (see :class:`Timeline`).
        """
        if stream_seconds is None:
            return arrival_ms
        stream_ms = stream_seconds * 1000
        offset_ms = self._tie(stream_ms, arrival_ms, backlog_ms)
        if sender_start_ms is not None and self._transport_ms is None:
            self._transport_ms = self._plausible_transport_ms(offset_ms - sender_start_ms)
        return min(arrival_ms, round(stream_ms + offset_ms - (self._transport_ms or 0.0)))

    def late_capture_ms(self, stream_seconds: float | None, arrival_ms: int) -> int:
        """Return as :meth:`capture_ms` when a frame was taken that is looked at after later ones.

        The clocks stay tied as they are.
        """
        if stream_seconds is None or self._offset_ms is None:
            return arrival_ms
        captured_ms = round(stream_seconds * 1000 + self._offset_ms - (self._transport_ms or 0.0))
        # The stream has jumped meanwhile.
        if abs(captured_ms - arrival_ms) > _JUMP_MS:
            return arrival_ms
        return min(arrival_ms, captured_ms)

    def _tie(self, stream_ms: float, arrival_ms: int, backlog_ms: float) -> float:
        sample_ms = arrival_ms - stream_ms
        is_restarted = stream_ms < self._last_stream_ms - _BACK_MS
        self._last_stream_ms = stream_ms
        jump_ms = 0.0 if self._offset_ms is None else sample_ms - self._offset_ms
        has_jumped = not -_JUMP_MS <= jump_ms <= _JUMP_MS + backlog_ms
        if self._offset_ms is None or is_restarted or has_jumped:
            self._low_ms = self._earlier_low_ms = sample_ms
            self._bucket_end_ms = arrival_ms + _BUCKET_MS
        elif arrival_ms >= self._bucket_end_ms:
            self._earlier_low_ms, self._low_ms = self._low_ms, sample_ms
            self._bucket_end_ms = arrival_ms + _BUCKET_MS
        self._low_ms = min(self._low_ms, sample_ms)
        self._offset_ms = min(self._low_ms, self._earlier_low_ms)
        self.lag_ms = sample_ms - self._offset_ms
        return self._offset_ms

    @staticmethod
    def _plausible_transport_ms(transport_ms: float) -> float:
        return transport_ms if 0 <= transport_ms <= _MAX_TRANSPORT_MS else 0.0


_LONGEST_RUSH_SECONDS = 5.0
"""After so much of a stream its frames are taken as they come, rush or not."""

_SLIP_SECONDS = 1.0
"""A recording that is played more than this behind its time goes on from where it is."""


class Pacer:
    """Plays a recording at the speed at which it was made."""

    def __init__(self) -> None:
        """Start with the clock of the first frame."""
        self._start_seconds: float | None = None

    def wait_seconds(self, stream_seconds: float, now_seconds: float) -> float:
        """Return how long (0 or more) the frame at ``stream_seconds`` has to wait.

        ``now_seconds`` is monotonic time. After a hold-up of more than a second the recording goes
        on at its normal speed instead of catching up in a rush.
        """
        if self._start_seconds is None:
            self._start_seconds = now_seconds - stream_seconds
        wait = self._start_seconds + stream_seconds - now_seconds
        if abs(wait) > _SLIP_SECONDS:
            self._start_seconds = now_seconds - stream_seconds
            return 0.0
        return max(0.0, wait)


class LiveEdge:
    """Finds the moment from which frames come as they are taken.

    Servers keep the last second or two, and FFmpeg reads about one to learn the format; both
    arrive in a rush when a connection opens. Those frames are past, and their capture times not
    known.
    """

    def __init__(self) -> None:
        """Start before the edge."""
        self._first_seconds: float | None = None
        self._stream_seconds = 0.0
        self._arrival_seconds = 0.0
        self._is_reached = False

    def reached(self, stream_seconds: float, arrival_seconds: float) -> bool:
        """Return whether this frame, or one before it, came at its own time."""
        if self._is_reached:
            return True
        if self._first_seconds is None:
            self._first_seconds = stream_seconds
        else:
            stream_gap = stream_seconds - self._stream_seconds
            arrival_gap = arrival_seconds - self._arrival_seconds
            self._is_reached = (
                arrival_gap >= stream_gap / 2
                or stream_seconds - self._first_seconds > _LONGEST_RUSH_SECONDS
            )
        self._stream_seconds, self._arrival_seconds = stream_seconds, arrival_seconds
        return self._is_reached
