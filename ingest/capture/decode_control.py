"""Reduces decoding if the machine is too slow to decode all frames of a stream."""

from enum import Enum
from typing import Final

_BEHIND_MS: Final = 700
_FAR_BEHIND_MS: Final = 1_500
_CAUGHT_UP_MS: Final = 300

_TOLERANCE_SECONDS: Final = 1.0
"""Time for which a long lag is tolerated. A few seconds of network backlog are decoded in less time
(4 ms per frame at 1080p). Only a machine that is too slow lags for longer."""


_BACKLOG_SECONDS: Final = 20.0
"""Maximum time for which the stream's lag is ignored after held-back frames were decoded."""


class DecodeEffort(Enum):
    """Which frames are decoded. The values are FFmpeg's ``skip_frame`` options."""

    ALL = "DEFAULT"
    REFERENCES = "NONREF"
    KEYFRAMES = "NONKEY"


class DecodeControl:
    """Decodes fewer frames of a stream that lags, and all frames once the stream has caught up.

    Skipping frames that no other frame references loses only those frames. Skipping all but key
    frames is the last resort. Full decoding then resumes at a key frame, because the frames before
    it reference skipped frames.
    """

    def __init__(self) -> None:
        self.effort = DecodeEffort.ALL
        self._behind_since_seconds: float | None = None
        self._backlog_end_seconds = 0.0
        self.backlog_ms = 0.0
        """Delay with which the last held-back frame was decoded, or 0 after the lag has ended."""

    def held_back(self, late_ms: float, now_seconds: float) -> None:
        """Record that a held-back frame was decoded ``late_ms`` after its arrival.

        The lag that results does not mean that the machine is too slow.
        """
        self.backlog_ms = max(0.0, late_ms)
        self._backlog_end_seconds = now_seconds + _BACKLOG_SECONDS

    def next(self, lag_ms: float, at_keyframe: bool, now_seconds: float) -> DecodeEffort:
        """Return the frames to decode next.

        ``lag_ms`` is the stream's lag, and ``now_seconds`` is monotonic time.
        """
        if lag_ms < _CAUGHT_UP_MS or now_seconds >= self._backlog_end_seconds:
            self.backlog_ms = 0.0
        if self.backlog_ms:
            return self.effort
        is_tolerated = self._is_tolerated(lag_ms, now_seconds)
        if lag_ms < _CAUGHT_UP_MS:
            if self.effort is not DecodeEffort.KEYFRAMES or at_keyframe:
                self.effort = DecodeEffort.ALL
        elif lag_ms > _FAR_BEHIND_MS and not is_tolerated:
            self.effort = DecodeEffort.KEYFRAMES
        elif lag_ms > _BEHIND_MS and self.effort is DecodeEffort.ALL:
            self.effort = DecodeEffort.REFERENCES
        return self.effort

    def _is_tolerated(self, lag_ms: float, now_seconds: float) -> bool:
        if lag_ms <= _FAR_BEHIND_MS:
            self._behind_since_seconds = None
            return True
        if self._behind_since_seconds is None:
            self._behind_since_seconds = now_seconds
        return now_seconds - self._behind_since_seconds < _TOLERANCE_SECONDS
