"""The demo's road scene as JPEG frames, decoded once and sent by many cameras."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np

from recognition.types import BgrImage
from tests.road import TRUTH, frames

WIDTH_PX, HEIGHT_PX = 1280, 720
FRAMES_PER_SECOND = 5

_JPEG_QUALITY = 85
_AFTER_LAST_PASS_SECONDS = 0.2


@dataclass(frozen=True)
class Shot:
    """A frame, with its time from the start of the scene."""

    at_ms: int
    jpeg: bytes


@dataclass(frozen=True)
class Footage:
    """The frames of the scene, and the plates that are visible in them, in order of time."""

    shots: tuple[Shot, ...]
    plates: tuple[str, ...]

    @property
    def duration_ms(self) -> int:
        """Time of the last frame."""
        return self.shots[-1].at_ms


def film(passes: int) -> Footage:
    """Return the first passes of the demo clip as ingest sends them, at 5 frames per second."""
    shown = sorted(TRUTH.passes, key=lambda one: one.last_visible_s)[:passes]
    until_s = shown[-1].last_visible_s + _AFTER_LAST_PASS_SECONDS
    shots = tuple(_shot(*each) for each in frames(until_s, TRUTH.fps // FRAMES_PER_SECOND))
    return Footage(shots, tuple(one.plate for one in shown))


def write_clip(footage: Footage, path: Path, *, seconds: int) -> None:
    """Write the scene as a video file, and repeat the last frame until ``seconds``."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FRAMES_PER_SECOND)
        stream.width, stream.height, stream.pix_fmt = WIDTH_PX, HEIGHT_PX, "yuv420p"
        stream.options = {"preset": "superfast", "crf": "18", "bf": "0"}
        for number in range(seconds * FRAMES_PER_SECOND):
            shot = footage.shots[min(number, len(footage.shots) - 1)]
            decoded = cv2.imdecode(np.frombuffer(shot.jpeg, np.uint8), cv2.IMREAD_COLOR)
            assert decoded is not None
            frame = av.VideoFrame.from_ndarray(np.asarray(decoded, np.uint8), format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, FRAMES_PER_SECOND)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def _shot(time_s: float, frame: BgrImage) -> Shot:
    small = cv2.resize(frame, (WIDTH_PX, HEIGHT_PX), interpolation=cv2.INTER_AREA)
    _, data = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    return Shot(round(time_s * 1000), data.tobytes())
