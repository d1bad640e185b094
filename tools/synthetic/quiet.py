"""A clip of a still scene as a camera's sensor shows it, and any clip as its small stream."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.clip import replaced
from tools.synthetic.scene import FPS

_NOISE_LEVELS = 2.5
"""Standard deviation of the brightness from frame to frame, of 255 levels: a camera by day."""

_KEY_FRAME_SECONDS = 2
_SMALL_FPS = 5
_SMALL_PX = (640, 360)


def _encoder(fps: int, kbits: int, reordered: int = 0) -> dict[str, str]:
    interval = _KEY_FRAME_SECONDS * fps
    return {
        "preset": "superfast",
        "tune": "zerolatency",
        "crf": "25",
        "x264-params": f"keyint={interval}:min-keyint={interval}:scenecut=0:bframes={reordered}"
        f":force-cfr=1:sliced-threads=0:vbv-maxrate={kbits}:vbv-bufsize={kbits}",
    }


def generate_small_clip(path: Path, clip: Path) -> None:
    """Write a clip as a camera's second stream shows it: 640 x 360 px, five frames a second.

    It appears whole or not at all.
    """
    with (
        replaced(path) as new,
        av.open(str(clip)) as source,
        av.open(str(new), "w", format="mp4") as container,
    ):
        stream = container.add_stream("libx264", rate=_SMALL_FPS, options=_encoder(_SMALL_FPS, 500))
        stream.width, stream.height = _SMALL_PX
        stream.pix_fmt = "yuv420p"
        stream.codec_context.thread_count = 1
        frames = (
            frame
            for at, frame in enumerate(source.decode(video=0))
            if at % (FPS // _SMALL_FPS) == 0
        )
        for index, frame in enumerate(frames):
            small = frame.reformat(*_SMALL_PX, "yuv420p")
            small.pts, small.time_base = index, Fraction(1, _SMALL_FPS)
            container.mux(stream.encode(small))
        container.mux(stream.encode())


def generate_quiet_clip(
    path: Path, scene: Path, *, seconds: float, seed: int = 7, reordered: int = 0
) -> None:
    """Write a clip (MP4, H.264, a key frame every two seconds) of the first frame of ``scene``.

    ``reordered`` is how many frames in a row are built on later ones (B-frames). It appears whole
    or not at all.
    """
    planes = _first_frame(scene).astype(np.int16)
    height_px, width_px = planes.shape[0] * 2 // 3, planes.shape[1]
    rng = np.random.default_rng(seed)
    # A few pictures of noise, each shifted at random: drawing each anew takes ten times as long.
    tiles = [
        np.rint(rng.normal(0, _NOISE_LEVELS, (height_px, width_px))).astype(np.int16)
        for _ in range(4)
    ]
    with replaced(path) as new, av.open(str(new), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=FPS, options=_encoder(FPS, 5000, reordered))
        stream.width, stream.height, stream.pix_fmt = width_px, height_px, "yuv420p"
        stream.codec_context.thread_count = 1
        for index in range(round(seconds * FPS)):
            noise = tiles[int(rng.integers(len(tiles)))]
            shift = tuple(int(each) for each in rng.integers(0, noise.shape))
            noisy = planes.copy()
            noisy[:height_px] += np.roll(noise, shift, axis=(0, 1))
            frame = av.VideoFrame.from_ndarray(
                np.clip(noisy, 16, 235).astype(np.uint8), format="yuv420p"
            )
            frame.pts, frame.time_base = index, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def _first_frame(scene: Path) -> NDArray[np.uint8]:
    """Return the planes of a clip's first frame, shape (height * 3 / 2, width)."""
    with av.open(str(scene)) as container:
        return np.asarray(next(container.decode(video=0)).to_ndarray(format="yuv420p"), np.uint8)
