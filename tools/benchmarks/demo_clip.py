"""Provides the demo clip to benchmarks: the passes, and frames with a readable plate."""

import cv2
import msgspec

from deploy.local.camera import DEMO_CLIP, DEMO_TRUTH

FRAMES_PER_SECOND = 25
CLEAR_PASS = 9
"""A pass at whose end only its vehicle is in view, with a plate that all models read."""

_BEFORE_THE_END_SECONDS = 0.4


class DemoPass(msgspec.Struct, frozen=True):
    """A vehicle in the clip. Times are in seconds from the first frame."""

    plate: str
    last_visible_s: float


class DemoScene(msgspec.Struct, frozen=True):
    """Length and passes of the clip."""

    duration_s: float
    passes: tuple[DemoPass, ...]


def demo_scene() -> DemoScene:
    """Return the passes of the demo clip."""
    return msgspec.json.decode(DEMO_TRUTH.read_bytes(), type=DemoScene)


def demo_frame(number: int = CLEAR_PASS) -> bytes:
    """Return a frame of the ``number``-th pass as JPEG, 1920 x 1080 px."""
    at_seconds = demo_scene().passes[number].last_visible_s - _BEFORE_THE_END_SECONDS
    capture = cv2.VideoCapture(str(DEMO_CLIP))
    capture.set(cv2.CAP_PROP_POS_FRAMES, round(at_seconds * FRAMES_PER_SECOND))
    encoded = cv2.imencode(".jpg", capture.read()[1])[1]
    capture.release()
    return encoded.tobytes()
