"""Provides a wall clock that never moves back, and the capture times of a stream's frames."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_SLOWER_BY: Final = 0.1
"""Fraction by which the clock runs slower while it is ahead of the machine's clock."""

_MAX_AHEAD_SECONDS: Final = 5.0
"""Lead of the clock above which the process restarts. If times fall back by more than this,
tracking assumes that a machine's clock was set back."""

_YOUNG_SECONDS: Final = 600.0
_MAX_AHEAD_WHILE_YOUNG_SECONDS: Final = 60.0
"""Maximum lead of a young worker, which it makes up for within :data:`_YOUNG_SECONDS`. If a
machine's clock is set back repeatedly, this limits how often its workers restart."""


@dataclass(frozen=True, slots=True)
class Instant:
    """A point in time: ``unix_ms`` (UTC) for storage, ``seconds`` (monotonic) for measurements."""

    unix_ms: int
    seconds: float

    def later(self, seconds: float) -> "Instant":
        """Return the time that is ``seconds`` later."""
        return Instant(self.unix_ms + round(seconds * 1000), self.seconds + seconds)


Clock = Callable[[], Instant]


class MonotonicWallClock:
    """A wall clock that never moves back. Thread-safe.

    If the machine's clock is set back, capture times would not advance until that clock has caught
    up, and later stages would assume that no time passes. So this clock continues, a tenth slower,
    until both clocks agree. If the machine's clock is set forward, this clock follows at once. If
    it is too far ahead to slow down, the worker must be restarted (:func:`is_too_far_ahead`).
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
        self.ahead_seconds = 0.0
        """Lead of this clock over the machine's clock at the last reading."""

    def __call__(self) -> Instant:
        """Return the current time."""
        with self._lock:
            seconds = self._monotonic_seconds()
            minimum_seconds = self._offset_seconds - _SLOWER_BY * (seconds - self._last_seconds)
            machine_seconds = self._unix_seconds() - seconds
            self._offset_seconds = max(minimum_seconds, machine_seconds)
            self.ahead_seconds = self._offset_seconds - machine_seconds
            self._last_seconds = seconds
            return Instant(int((seconds + self._offset_seconds) * 1000), seconds)


def is_too_far_ahead(ahead_seconds: float, up_seconds: float) -> bool:
    """Return whether a process must restart because its clock is too far ahead.

    ``up_seconds`` is the process's uptime.
    """
    is_young = up_seconds < _YOUNG_SECONDS
    return ahead_seconds > (_MAX_AHEAD_WHILE_YOUNG_SECONDS if is_young else _MAX_AHEAD_SECONDS)


TICK_DELAY_MS: Final = 2_000
"""Delay of a camera's clock relative to the wall clock while no frames arrive, so that frames that
were only delayed in transit stay in order."""


class Timeline:
    """The clock of a camera at one worker, as published on the frames topic. Never moves back."""

    def __init__(self, start_ms: int) -> None:
        """Start at ``start_ms`` (Unix ms, UTC)."""
        self.last_ms = start_ms

    def frame(self, capture_ms: int) -> int:
        """Return the time of a frame, which is later than all previously returned times."""
        self.last_ms = max(capture_ms, self.last_ms + 1)
        return self.last_ms

    def tick(self, seen_ms: int, now_ms: int) -> int:
        """Return the time of a tick, which is sent if there is no frame to send.

        ``seen_ms`` is the capture time of the latest frame, sent or not.
        """
        return self.reached(max(seen_ms, now_ms - TICK_DELAY_MS))

    def reached(self, settled_ms: int) -> int:
        """Return the time of a tick if no frame of ``settled_ms`` or earlier can follow."""
        self.last_ms = max(self.last_ms, settled_ms)
        return self.last_ms


_BUCKET_MS: Final = 15_000
"""Arrivals are compared over one to two periods of this length. A period is long enough to include
an undelayed frame, and short enough to follow a camera's clock that is 100 ppm off (3 ms)."""

_JUMP_MS: Final = 10_000
"""A frame further than this from its neighbours was not delayed, but starts a new timeline."""

_BACK_MS: Final = 100
"""If a stream's time moves back by more than this, the stream has restarted."""

_MAX_TRANSPORT_MS: Final = 2_000
"""If the transport time is longer than this, the camera's clock is wrong."""


class CaptureClock:
    """Computes the capture times of a connection's frames.

    Frames have a varying delay and are never early, so the smallest difference between arrival and
    stream time in the last half minute is the offset of the two clocks. Continuous updates of the
    offset also follow the clocks' drift. If the camera sends its own time (RTCP sender report), the
    transport time from the camera, if plausible, is subtracted.

    **Source:** RFC 3550, section 6.4.1 (sender reports), for the camera's time.
    """

    def __init__(self) -> None:
        """Create a clock for a new connection."""
        self._offset_ms: float | None = None
        self._low_ms = 0.0
        self._earlier_low_ms = 0.0
        self._bucket_end_ms = 0.0
        self._last_stream_ms = 0.0
        self._transport_ms: float | None = None
        self.lag_ms = 0.0
        """Delay of the last frame, relative to its least delayed neighbours."""

    def capture_ms(
        self,
        stream_seconds: float | None,
        arrival_ms: int,
        sender_start_ms: float | None = None,
        backlog_ms: float = 0.0,
    ) -> int:
        """Return the capture time of a frame (Unix ms, UTC), at most ``arrival_ms``.

        ``stream_seconds`` is the frame's time within the stream, ``sender_start_ms`` the Unix time
        of the stream's zero according to the camera. A frame may be ``backlog_ms`` late, because
        held-back frames were decoded first. Times can move back slightly when the offset is updated
        (see :class:`Timeline`).
        """
        if stream_seconds is None:
            return arrival_ms
        stream_ms = stream_seconds * 1000
        offset_ms = self._tie(stream_ms, arrival_ms, backlog_ms)
        if sender_start_ms is not None and self._transport_ms is None:
            transport_ms = offset_ms - sender_start_ms
            is_plausible = 0 <= transport_ms <= _MAX_TRANSPORT_MS
            self._transport_ms = transport_ms if is_plausible else 0.0
        return min(arrival_ms, round(stream_ms + offset_ms - (self._transport_ms or 0.0)))

    def late_capture_ms(self, stream_seconds: float | None, arrival_ms: int) -> int:
        """Return the capture time of a frame that is processed after later frames.

        Unlike :meth:`capture_ms`, this method does not update the offset of the clocks.
        """
        if stream_seconds is None or self._offset_ms is None:
            return arrival_ms
        captured_ms = round(stream_seconds * 1000 + self._offset_ms - (self._transport_ms or 0.0))
        # The stream's time has jumped since this frame.
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


_MAX_BURST_SECONDS = 5.0
"""Stream time after which frames count as live even if they still arrive in a burst."""

_SLIP_SECONDS = 1.0
"""If playback is delayed by more than this, it continues from the current position."""


class Pacer:
    """Determines when to play the frames of a recording, at the original speed."""

    def __init__(self) -> None:
        """Create a pacer whose clock starts with the first frame."""
        self._start_seconds: float | None = None

    def wait_seconds(self, stream_seconds: float, now_seconds: float) -> float:
        """Return the time to wait before the frame at ``stream_seconds``, 0 or more.

        ``now_seconds`` is monotonic time. After a delay of more than a second, the recording
        continues at normal speed instead of catching up.
        """
        if self._start_seconds is None:
            self._start_seconds = now_seconds - stream_seconds
        wait = self._start_seconds + stream_seconds - now_seconds
        if abs(wait) > _SLIP_SECONDS:
            self._start_seconds = now_seconds - stream_seconds
            return 0.0
        return max(0.0, wait)


class LiveEdge:
    """Detects the first frame that arrives live.

    Servers buffer the last second or two, and FFmpeg reads about one second to detect the format.
    Both arrive in a burst when a connection opens. The capture times of these frames are unknown.
    """

    def __init__(self) -> None:
        """Create a detector for a new connection."""
        self._first_seconds: float | None = None
        self._stream_seconds = 0.0
        self._arrival_seconds = 0.0
        self._is_reached = False

    def reached(self, stream_seconds: float, arrival_seconds: float) -> bool:
        """Return whether this frame or an earlier frame arrived live."""
        if self._is_reached:
            return True
        if self._first_seconds is None:
            self._first_seconds = stream_seconds
        else:
            stream_gap = stream_seconds - self._stream_seconds
            arrival_gap = arrival_seconds - self._arrival_seconds
            self._is_reached = (
                arrival_gap >= stream_gap / 2
                or stream_seconds - self._first_seconds > _MAX_BURST_SECONDS
            )
        self._stream_seconds, self._arrival_seconds = stream_seconds, arrival_seconds
        return self._is_reached
