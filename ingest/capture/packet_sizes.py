"""Detects motion in a stream from the sizes of its packets, without decoding them.

Only the key frames of a still scene are decoded. Motion makes the packets between key frames larger
than noise does. Full decoding then resumes without waiting for the next key frame. No I/O: packets
are stored elsewhere (see :mod:`ingest.capture.camera_stream`).
"""

from collections import defaultdict
from typing import Final

_MAX_PLACES: Final = 512
"""Number of positions after a key frame with separate levels. Encoders refine the image after a key
frame, so the typical packet size depends on the position. In a still scene, sizes only differ from
the typical size by a few hundredths."""

_LEVEL_SHARE: Final = 0.25
"""Weight of the newest size in the moving average at its position (about four GOPs)."""

_DEVIATION_SHARE: Final = 0.02
_FIRST_DEVIATION: Final = 0.25

_MIN_GROUPS: Final = 3
_MIN_FRAMES: Final = 75
"""Minimum numbers of GOPs and of packet sizes for reliable levels."""

_SLACK: Final = 1.0
_RISE: Final = 10.0
"""Threshold for full decoding: the sum of each size's excess over its level, minus a slack, in mean
deviations of the scene's sizes. A false alarm costs the decoding of a GOP. A miss delays decoding
until the next key frame, and loses vehicles that pass between two key frames.

**Source:** Page, "Continuous inspection schemes", Biometrika 41 (1954): a cumulative sum detects a
small lasting rise sooner than a test of single sizes does."""

_MIN_DEVIATION: Final = 0.03
"""Minimum deviation, because constant bit rate encoders make all packets equally large."""

MAX_INTERVAL_SECONDS: Final = 12.0
_MIN_INTERVAL_SECONDS: Final = 0.3
_OVERDUE: Final = 2.0


class _SizeLevels:
    """Typical sizes of packets of one kind, by position after the key frame."""

    def __init__(self) -> None:
        self._levels: dict[int, float] = {}
        self._latest_level: float | None = None
        self._deviation, self.sum = _FIRST_DEVIATION, 0.0

    def rises(self, place: int, size_bytes: int) -> bool:
        """Record a size. Return whether the sum of the excesses exceeds its threshold."""
        # A position that occurs for the first time starts with the level of the previous position.
        level = self._levels.get(place, self._latest_level or float(size_bytes))
        self._latest_level = level + _LEVEL_SHARE * (size_bytes - level)
        self._levels[place] = self._latest_level
        difference = (size_bytes - level) / max(1.0, level)
        rise = difference / max(self._deviation, _MIN_DEVIATION)
        self.sum = max(0.0, self.sum + rise - _SLACK)
        self._deviation += _DEVIATION_SHARE * (min(1.0, abs(difference)) - self._deviation)
        if self.sum <= _RISE:
            return False
        self.sum = 0.0
        return True


class PacketSizeMonitor:
    """State of a connection: key frame interval, and sizes of other packets in a still scene.

    All times are arrival times (monotonic, in seconds), because a stream's timestamps can jump.
    """

    def __init__(self) -> None:
        """Create a monitor for a new connection."""
        self._key_seconds: float | None = None
        self._latest_shown: int | None = None
        self._interval_seconds: float | None = None
        # Motion can make some of the reordered frames (B-frames) larger and the frames between them
        # smaller. So each position in a run of them has its own sum; other frames have position 0.
        self._run = 0
        self._sizes: defaultdict[int, _SizeLevels] = defaultdict(_SizeLevels)
        self._frames = self._frames_before = self._groups = self._place = 0
        self._is_distrusted = False

    def can_reduce(self) -> bool:
        """Return whether decoding can be reduced to key frames.

        Key frames must arrive regularly, neither too rarely nor too often, and the scene's noise
        must be known.
        """
        interval = self._interval_seconds
        return (
            not self._is_distrusted
            and self._groups >= _MIN_GROUPS
            and self._frames >= _MIN_FRAMES
            and interval is not None
            and _MIN_INTERVAL_SECONDS <= interval <= MAX_INTERVAL_SECONDS
        )

    def distrust(self) -> None:
        """Never reduce decoding again, because the connection's key frames are not genuine."""
        self._is_distrusted = True

    def key_frame(self, arrival_seconds: float, shown_at: int | None) -> None:
        """Record a key frame."""
        self._latest_shown, self._run = shown_at, 0
        if self._key_seconds is not None:
            self._interval_seconds = arrival_seconds - self._key_seconds
        self._key_seconds = arrival_seconds
        self._place = 0
        for sizes in self._sizes.values():
            sizes.sum = 0.0
        # GOPs of a moving scene are not counted.
        self._groups += self._frames > self._frames_before
        self._frames_before = self._frames

    def skip(self) -> None:
        """Record a packet between key frames of a scene with motion."""
        self._place += 1

    def rises(self, size_bytes: int, arrival_seconds: float, shown_at: int | None) -> bool:
        """Record a packet between key frames of a still scene.

        Return whether there may be motion, or the next key frame is overdue.
        """
        place = min(self._place, _MAX_PLACES)
        self._place += 1
        self._frames += 1
        latest = self._latest_shown
        is_reordered = shown_at is not None and latest is not None and shown_at < latest
        self._run = self._run + 1 if is_reordered else 0
        if not is_reordered:
            self._latest_shown = shown_at
        rises = self._sizes[self._run].rises(place, size_bytes)
        return (rises and self.can_reduce()) or self._is_overdue(arrival_seconds)

    def _is_overdue(self, arrival_seconds: float) -> bool:
        if self._key_seconds is None or self._interval_seconds is None:
            return True
        return arrival_seconds - self._key_seconds > _OVERDUE * self._interval_seconds
