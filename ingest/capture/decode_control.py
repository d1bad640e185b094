"""How much of a stream is decoded on a machine that is too slow for all of it."""

from enum import Enum
from typing import Final

_BEHIND_MS: Final = 700
_FAR_BEHIND_MS: Final = 1_500
_CAUGHT_UP_MS: Final = 300

_TOLERANCE_SECONDS: Final = 1.0
"""A backlog of some seconds on the network is decoded in less than this (4 ms a frame at 1080p);
only a machine that is too slow stays behind longer."""


_BACKLOG_SECONDS: Final = 20.0
"""After what was held back the stream is behind itself for so long at most without consequence."""


class DecodeEffort(Enum):
    """The share of a stream's frames that is decoded; the values are FFmpeg's ``skip_frame``."""

    ALL = "DEFAULT"
    REFERENCES = "NONREF"
    KEYFRAMES = "NONKEY"


class DecodeControl:
    """Decodes less of a stream that stays behind itself, and all again once it has caught up.

    Skipping frames on which no other is built costs nothing but those frames. Skipping all but
    key frames is the last resort; full effort then returns at a key frame, since the frames
    between would be built on missing ones.
    """

    def __init__(self) -> None:
        self.effort = DecodeEffort.ALL
        self._behind_since_seconds: float | None = None
        self._backlog_end_seconds = 0.0
        self.backlog_ms = 0.0
        """How late the last held back frame was decoded, until the stream has caught up."""

    def held_back(self, late_ms: float, now_seconds: float) -> None:
        """Note that a frame was decoded so long after it came, as it was held back.

        The lag that comes of it is none of a machine that is too slow.
        """
        self.backlog_ms = max(0.0, late_ms)
        self._backlog_end_seconds = now_seconds + _BACKLOG_SECONDS

    def next(self, lag_ms: float, at_keyframe: bool, now_seconds: float) -> DecodeEffort:
        """Return what to decode next.

        ``lag_ms`` is how far the stream is behind itself, ``now_seconds`` monotonic time.
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
