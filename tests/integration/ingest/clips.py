"""Short videos that cameras play."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import cast

import av
import numpy as np
from numpy.typing import NDArray

FPS = 25
WIDTH_PX, HEIGHT_PX = 640, 360


def write_clip(
    path: Path, *, seconds: float, moving: bool, codec: str = "libx264", **options: str
) -> Path:
    """Return the path of a new file in which a bright block moves, or nothing moves.

    ``options`` are those of the codec, by default for H.264 without B-frames.
    """
    with av.open(str(path), "w", format="mov") as container:
        stream = cast("av.VideoStream", container.add_stream(codec, rate=FPS))
        pixels = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.width, stream.height, stream.pix_fmt = WIDTH_PX, HEIGHT_PX, pixels
        stream.options = {"preset": "ultrafast", "g": str(FPS), "bf": "0", **options}
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


def transport_stream(sizes: Iterable[tuple[int, int]], *, frames: int) -> bytes:
    """Return an H.264 transport stream with some frames of each size (width, height)."""
    file, number = BytesIO(), 0
    for width, height in sizes:
        with av.open(file, "w", format="mpegts") as container:
            stream = container.add_stream("libx264", rate=FPS)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            stream.options = {"preset": "ultrafast", "bf": "0", "tune": "zerolatency"}
            for _ in range(frames):
                pixels = np.full((height * 3 // 2, width), 90, np.uint8)
                frame = av.VideoFrame.from_ndarray(pixels, format="yuv420p")
                frame.pts, frame.time_base = number, Fraction(1, FPS)
                container.mux(stream.encode(frame))
                number += 1
            container.mux(stream.encode())
    return file.getvalue()
