"""A frame of the demo clip in which a plate can be read, for what needs any such picture."""

import cv2
import msgspec

from deploy.local.camera import DEMO_CLIP, DEMO_TRUTH
from tools.synthetic.scene import SceneTruth

_BEFORE_THE_END_SECONDS = 0.4
_FRAMES_PER_SECOND = 25


def demo_picture() -> bytes:
    """Return it as JPEG, 1920 x 1080 px."""
    truth = msgspec.json.decode(DEMO_TRUTH.read_bytes(), type=SceneTruth)
    capture = cv2.VideoCapture(str(DEMO_CLIP))
    at_seconds = truth.passes[0].last_visible_s - _BEFORE_THE_END_SECONDS
    capture.set(cv2.CAP_PROP_POS_FRAMES, round(at_seconds * _FRAMES_PER_SECOND))
    coded = cv2.imencode(".jpg", capture.read()[1])[1]
    capture.release()
    return coded.tobytes()
