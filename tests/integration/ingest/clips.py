"""Short videos for cameras to play."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

FPS = 25
WIDTH_PX, HEIGHT_PX = 640, 360


def write_clip(path: Path, *, seconds: float, moving: bool) -> Path:
    """Write an H.264 file in which a bright block runs through the frame, or nothing happens."""
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


def write_pass(path: Path, *, seconds: float, begin: float, small: bool = False) -> Path:
    """Write a still scene through which a bright block runs for a second, from the left.

    Its frames are reordered; or it is that scene as a camera's second stream.
    """
    fps, (width_px, height_px) = (5, (320, 180)) if small else (FPS, (WIDTH_PX, HEIGHT_PX))
    blocks = np.random.default_rng(1).integers(40, 140, (9, 16), dtype=np.uint8)
    scene = np.kron(blocks, np.ones((40, 40), np.uint8))
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=fps)
        stream.width, stream.height, stream.pix_fmt = width_px, height_px, "yuv420p"
        stream.options = {"preset": "ultrafast", "g": str(fps), "bf": "0" if small else "2"}
        for number in range(round(seconds * fps)):
            image = scene.copy()
            left = round((number / fps - begin) * WIDTH_PX)
            if 0 <= left < WIDTH_PX:
                image[120:240, left : left + 160] = 230
            frame = av.VideoFrame.from_ndarray(image, format="gray")
            frame = frame.reformat(width_px, height_px, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path
