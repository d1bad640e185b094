"""Short videos that cameras play."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

FPS = 25
WIDTH_PX, HEIGHT_PX = 640, 360


def write_clip(path: Path, *, seconds: float, moving: bool) -> Path:
    """Return the path of a new H.264 file in which a bright block moves, or nothing moves."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = WIDTH_PX, HEIGHT_PX, "yuv420p"
        stream.options = {"preset": "ultrafast", "g": str(FPS), "bf": "0"}
        for number, image in enumerate(_images(round(seconds * FPS), moving)):
            frame = av.VideoFrame.from_ndarray(image, format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def _images(count: int, moving: bool) -> Iterator[NDArray[np.uint8]]:
    scene = np.random.default_rng(1).integers(60, 120, (HEIGHT_PX, WIDTH_PX, 3), dtype=np.uint8)
    for number in range(count):
        image = scene.copy()
        if moving:
            left = number * 16 % WIDTH_PX
            image[120:240, left : left + 160] = 230
        yield image
