"""Provides the demo clip's true passes, and frames with a readable plate, to benchmarks."""

import cv2
import msgspec

from deploy.local.camera import DEMO_CLIP, DEMO_TRUTH

FRAMES_PER_SECOND = 25
CLEAR_PASS = 9
"""Index of a pass at whose end no other vehicle is in view, with a plate that all models read."""

_BEFORE_THE_END_SECONDS = 0.4


class DemoPass(msgspec.Struct, frozen=True):
    """A vehicle's pass in the clip. Times are in seconds from the first frame."""

    plate: str
    last_visible_s: float


class DemoScene(msgspec.Struct, frozen=True):
    """The length of the clip in seconds, and the true passes."""

    duration_s: float
    passes: tuple[DemoPass, ...]


def demo_scene() -> DemoScene:
    """Return the length and the true passes of the demo clip."""
    return msgspec.json.decode(DEMO_TRUTH.read_bytes(), type=DemoScene)


def demo_frame(number: int = CLEAR_PASS) -> bytes:
    """Return a frame near the end of pass ``number`` (from 0) as a JPEG of 1920 x 1080 px."""
    at_seconds = demo_scene().passes[number].last_visible_s - _BEFORE_THE_END_SECONDS
    capture = cv2.VideoCapture(str(DEMO_CLIP))
    capture.set(cv2.CAP_PROP_POS_FRAMES, round(at_seconds * FRAMES_PER_SECOND))
    encoded = cv2.imencode(".jpg", capture.read()[1])[1]
    capture.release()
    return encoded.tobytes()
