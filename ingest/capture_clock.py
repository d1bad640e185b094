"""When a frame was taken, from the stream's time, the arrival and the camera's own clock."""

from typing import Final

_BUCKET_MS: Final = 15_000
"""Arrivals are compared over one to two such spans: long enough to meet an undelayed frame, short
enough to follow a camera whose clock runs 100 ppm off (3 ms)."""

_JUMP_MS: Final = 10_000
"""Further from its neighbours than this is a new time line, not a delay."""

_BACK_MS: Final = 100
"""A stream whose time goes back by more than this has begun anew."""

_MAX_TRANSPORT_MS: Final = 2_000
"""A camera's clock that tells a longer way than this is wrong, not far away."""

TICK_DELAY_MS: Final = 2_000
"""While a camera says nothing its clock follows the wall clock this far behind, so that frames that
were only held up on their way keep their place."""


class CaptureClock:
    """Capture times of one connection.

    Frames are late by a varying delay and never early, so the least difference between arrival and
    stream time over the last half minute ties the two clocks together; taking it anew all the time
    also follows the drift between them. Where the camera tells its own time (RTCP sender report),
    the way from camera to here is taken off, if it is believable.

    **Source:** RFC 3550, section 6.4.1 (sender reports), for what the camera tells.
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
        """How much later than its least delayed neighbours the last frame came."""

    def capture_ms(
        self, stream_seconds: float | None, arrival_ms: int, sender_start_ms: float | None = None
    ) -> int:
        """Return when (Unix ms, UTC) the frame was taken; never after ``arrival_ms``.

        ``stream_seconds`` is the frame's time within its stream, ``sender_start_ms`` the Unix time
        that the camera gives to the stream's zero. Times can fall back by a little when the clocks
        are tied anew (see :class:`Timeline`).
        """
        if stream_seconds is None:
            return arrival_ms
        stream_ms = stream_seconds * 1000
        offset_ms = self._tie(stream_ms, arrival_ms)
        if sender_start_ms is not None and self._transport_ms is None:
            self._transport_ms = self._believable_transport_ms(offset_ms - sender_start_ms)
        return min(arrival_ms, round(stream_ms + offset_ms - (self._transport_ms or 0.0)))

    def _tie(self, stream_ms: float, arrival_ms: int) -> float:
        sample_ms = arrival_ms - stream_ms
        begins_anew = stream_ms < self._last_stream_ms - _BACK_MS
        self._last_stream_ms = stream_ms
        if self._offset_ms is None or begins_anew or abs(sample_ms - self._offset_ms) > _JUMP_MS:
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
    def _believable_transport_ms(transport_ms: float) -> float:
        return transport_ms if 0 <= transport_ms <= _MAX_TRANSPORT_MS else 0.0


class Timeline:
    """The clock of one camera at one worker, as the frames topic tells it: it never falls."""

    def __init__(self, start_ms: int) -> None:
        """Begin at ``start_ms`` (Unix ms, UTC)."""
        self.last_ms = start_ms

    def frame(self, capture_ms: int) -> int:
        """Return the time to give to a frame: later than everything before it."""
        self.last_ms = max(capture_ms, self.last_ms + 1)
        return self.last_ms

    def tick(self, seen_ms: int, now_ms: int) -> int:
        """Return the time to tell when there is no frame to send.

        ``seen_ms`` is the capture time of the latest frame that came, sent or not.
        """
        self.last_ms = max(self.last_ms, seen_ms, now_ms - TICK_DELAY_MS)
        return self.last_ms

    def disconnected(self, now_ms: int) -> int:
        """Return the time to tell when the connection is over: nothing older can come."""
        self.last_ms = max(self.last_ms, now_ms)
        return self.last_ms
