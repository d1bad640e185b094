"""A clip of a still scene as a camera's sensor shows it: nothing moves but noise."""

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
_ENCODER = {
    "preset": "superfast",
    "tune": "zerolatency",
    "crf": "25",
    "x264-params": f"keyint={_KEY_FRAME_SECONDS * FPS}:min-keyint={_KEY_FRAME_SECONDS * FPS}"
    ":scenecut=0:bframes=0:force-cfr=1:sliced-threads=0:vbv-maxrate=5000:vbv-bufsize=5000",
}


def generate_quiet_clip(path: Path, scene: Path, *, seconds: float, seed: int = 7) -> None:
    """Write a clip (MP4, H.264, a key frame every two seconds) of the first frame of ``scene``.

    It appears whole or not at all.
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
        stream = container.add_stream("libx264", rate=FPS, options=_ENCODER)
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
