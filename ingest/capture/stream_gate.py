"""Whether a stream at rest is to be decoded again, from the sizes of its packets alone.

A stream whose scene is still is decoded at its key frames only. What moves makes the frames between
them larger than the noise of the scene does: that opens the stream without waiting for the next key
frame. Pure: no packet is held here (see :mod:`ingest.capture.camera_stream`).
"""

from typing import Final

_SHORT_SHARE: Final = 0.3
"""Of the newest size in the running size: three or four frames, a tenth of a second or two."""

_LONG_SHARE: Final = 0.02
"""The same of the scene's own level: fifty frames."""

_LEAST_FRAMES: Final = 50
"""So many sizes make a level."""

_RISE_SHARE: Final = 0.25
_RISE_SPREADS: Final = 5.0
_RISE_BYTES: Final = 100.0
"""What opens a stream: a rise over the level by a quarter, and beyond what noise does. One too many
costs the decoding of a group of pictures, one too few its latency, unless all of it is between two
key frames."""

MAX_INTERVAL_SECONDS: Final = 12.0
_MIN_INTERVAL_SECONDS: Final = 0.3
_OVERDUE: Final = 2.0
MAX_HELD_BYTES: Final = 8 * 1024 * 1024
MAX_HELD_PACKETS: Final = 1_000


class StreamGate:
    """State of one connection: intervals of its key frames, sizes of the others while at rest.

    All times are of arrival, monotonic, in seconds: a stream's own may jump.
    """

    def __init__(self) -> None:
        """Start without any knowledge of the stream."""
        self._key_seconds: float | None = None
        self._interval_seconds: float | None = None
        self._short = self._level = self._spread = 0.0
        self._frames = 0
        self._is_distrusted = False

    def may_rest(self) -> bool:
        """Return whether the stream can be decoded at its key frames only.

        They have to come regularly, neither seldom nor all the time, and the noise of the scene has
        to be known.
        """
        interval = self._interval_seconds
        return (
            not self._is_distrusted
            and self._frames >= _LEAST_FRAMES
            and interval is not None
            and _MIN_INTERVAL_SECONDS <= interval <= MAX_INTERVAL_SECONDS
        )

    def distrust(self) -> None:
        """Never let this connection rest again: what it calls key frames are none."""
        self._is_distrusted = True

    def key_frame(self, arrival_seconds: float) -> None:
        """Note a key frame."""
        if self._key_seconds is not None:
            self._interval_seconds = arrival_seconds - self._key_seconds
        self._key_seconds = arrival_seconds

    def rises(self, size_bytes: int, arrival_seconds: float) -> bool:
        """Note a packet between key frames of a still scene.

        Returns whether something may move, or the next key frame is overdue.
        """
        if self._frames == 0:
            self._short = self._level = float(size_bytes)
            self._spread = size_bytes / 4
        self._frames += 1
        self._short += _SHORT_SHARE * (size_bytes - self._short)
        difference = self._short - self._level
        rise = max(_RISE_SHARE * self._level, _RISE_SPREADS * self._spread) + _RISE_BYTES
        self._level += _LONG_SHARE * difference
        self._spread += _LONG_SHARE * (abs(difference) - self._spread)
        if self._frames < _LEAST_FRAMES:
            return False
        return difference > rise or self._is_overdue(arrival_seconds)

    def _is_overdue(self, arrival_seconds: float) -> bool:
        if self._key_seconds is None or self._interval_seconds is None:
            return True
        return arrival_seconds - self._key_seconds > _OVERDUE * self._interval_seconds
