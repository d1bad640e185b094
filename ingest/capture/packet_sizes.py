"""Whether a stream at rest is to be decoded again, from the sizes of its packets alone.

A stream whose scene is still is decoded at its key frames only. What moves makes the frames between
them larger than the noise of the scene does: that opens the stream without waiting for the next key
frame. Pure: no packet is held here (see :mod:`ingest.capture.camera_stream`).
"""

from typing import Final

_MAX_PLACES: Final = 512
"""Encoders make up after a key frame for what it left: each packet after one has a level of its
own, by its place, from which sizes of a still scene differ by some hundredths only."""

_LEVEL_SHARE: Final = 0.25
"""Of the newest size in the running level of its place: four groups of pictures."""

_DEVIATION_SHARE: Final = 0.02
_FIRST_DEVIATION: Final = 0.25

_LEAST_GROUPS: Final = 3
_LEAST_FRAMES: Final = 75
"""So many sizes make the levels."""

_SLACK: Final = 1.0
_RISE: Final = 10.0
"""What opens a stream: sizes over their level, summed up after so much slack each, in mean
deviations of the scene's own sizes. One opening too many costs the decoding of a group of pictures,
one too few the time until the next key frame, and what passes between two of them.

**Source:** Page, "Continuous inspection schemes", Biometrika 41 (1954): a cumulative sum finds a
small lasting rise sooner than any one size does."""

_LEAST_DEVIATION: Final = 0.03
"""Encoders that fill a fixed rate make all packets of a size."""

MAX_INTERVAL_SECONDS: Final = 12.0
_MIN_INTERVAL_SECONDS: Final = 0.3
_OVERDUE: Final = 2.0


class PacketSizeMonitor:
    """State of one connection: intervals of its key frames, sizes of the others while at rest.

    All times are of arrival, monotonic, in seconds: a stream's own may jump.
    """

    def __init__(self) -> None:
        """Start without any knowledge of the stream."""
        self._key_seconds: float | None = None
        self._latest_shown: int | None = None
        self._interval_seconds: float | None = None
        self._levels: dict[int, float] = {}
        self._deviation, self._sum = _FIRST_DEVIATION, 0.0
        self._frames = self._frames_before = self._groups = self._place = 0
        self._is_distrusted = self._is_reordered = False

    def can_reduce(self) -> bool:
        """Return whether the stream can be decoded at its key frames only.

        They have to come regularly, neither seldom nor all the time, and the noise of the scene has
        to be known.
        """
        interval = self._interval_seconds
        return (
            not self._is_distrusted
            and not self._is_reordered
            and self._groups >= _LEAST_GROUPS
            and self._frames >= _LEAST_FRAMES
            and interval is not None
            and _MIN_INTERVAL_SECONDS <= interval <= MAX_INTERVAL_SECONDS
        )

    def distrust(self) -> None:
        """Never let this connection rest again: what it calls key frames are none."""
        self._is_distrusted = True

    def shown_at(self, time: int | None) -> None:
        """Note when a packet between key frames is shown, by the stream's time.

        Sizes of a stream that shows one before another that came earlier vary too much to tell
        anything.
        """
        if time is not None and self._latest_shown is not None:
            self._is_reordered = self._is_reordered or time < self._latest_shown
            self._latest_shown = max(self._latest_shown, time)

    def key_frame(self, arrival_seconds: float, shown_at: int | None) -> None:
        """Note a key frame."""
        self._latest_shown = shown_at
        if self._key_seconds is not None:
            self._interval_seconds = arrival_seconds - self._key_seconds
        self._key_seconds = arrival_seconds
        self._place = 0
        self._sum = 0.0
        # Those of a moving scene are not counted.
        self._groups += self._frames > self._frames_before
        self._frames_before = self._frames

    def skip(self) -> None:
        """Note a packet between key frames of a scene in which something moves."""
        self._place += 1

    def rises(self, size_bytes: int, arrival_seconds: float) -> bool:
        """Note a packet between key frames of a still scene.

        Returns whether something may move, or the next key frame is overdue.
        """
        place = min(self._place, _MAX_PLACES)
        self._place += 1
        self._frames += 1
        # A place that was not seen yet begins as the one before it.
        level = self._levels.get(place, self._levels.get(place - 1, float(size_bytes)))
        self._levels[place] = level + _LEVEL_SHARE * (size_bytes - level)
        difference = (size_bytes - level) / max(1.0, level)
        rise = difference / max(self._deviation, _LEAST_DEVIATION)
        self._sum = max(0.0, self._sum + rise - _SLACK)
        self._deviation += _DEVIATION_SHARE * (min(1.0, abs(difference)) - self._deviation)
        if self._sum > _RISE:
            self._sum = 0.0
            if self.can_reduce():
                return True
        return self._is_overdue(arrival_seconds)

    def _is_overdue(self, arrival_seconds: float) -> bool:
        if self._key_seconds is None or self._interval_seconds is None:
            return True
        return arrival_seconds - self._key_seconds > _OVERDUE * self._interval_seconds
