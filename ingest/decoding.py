"""How much of a stream is decoded when the machine cannot keep up."""

from enum import Enum
from typing import Final

_BEHIND_MS: Final = 1_000
_FAR_BEHIND_MS: Final = 3_000
_CAUGHT_UP_MS: Final = 300


class DecodeEffort(Enum):
    """Which pictures of a stream are decoded; the values are FFmpeg's ``skip_frame``."""

    ALL = "DEFAULT"
    REFERENCES = "NONREF"
    KEYFRAMES = "NONKEY"


def decode_effort(current: DecodeEffort, lag_ms: float, at_keyframe: bool) -> DecodeEffort:
    """Return what to decode next, given how far the stream is behind itself.

    After only key frames were decoded, full effort starts at a key frame: the pictures between
    would be built on ones that are missing.
    """
    if lag_ms > _FAR_BEHIND_MS:
        return DecodeEffort.KEYFRAMES
    if current is DecodeEffort.KEYFRAMES:
        return DecodeEffort.ALL if at_keyframe and lag_ms < _CAUGHT_UP_MS else current
    if lag_ms > _BEHIND_MS:
        return DecodeEffort.REFERENCES
    return DecodeEffort.ALL if lag_ms < _CAUGHT_UP_MS else current
