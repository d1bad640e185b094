"""A road scene written as an H.264 clip with its truth beside it."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

import av
import msgspec

from recognition.processors import available_processors
from tools.synthetic.scene import FPS, RoadScene, RoadSceneOptions, SceneTruth

Progress = Callable[[int, int], None]
"""Called with how many frames are done and how many there are."""

# A part begins with a key frame and is encoded by itself, so that the clip's bytes do not depend on
# how many processes share the work.
_PART_FRAMES = 10 * FPS
_COLOURS = "colormatrix=smpte170m:colorprim=bt709:transfer=bt709"


class Encoding(StrEnum):
    """How much time the encoder takes for how few bytes."""

    FAST = "fast"
    SMALL = "small"


_ENCODERS = {
    Encoding.FAST: {
        "preset": "superfast",
        "tune": "zerolatency",
        "crf": "25",
        "x264-params": f"keyint={FPS}:min-keyint={FPS}:scenecut=0:bframes=0:force-cfr=1"
        f":sliced-threads=0:vbv-maxrate=5000:vbv-bufsize=5000:{_COLOURS}",
    },
    # A third of the bytes for twice the time: for a clip that is drawn once and then kept.
    Encoding.SMALL: {
        "preset": "medium",
        "crf": "30",
        "x264-params": f"keyint={2 * FPS}:min-keyint={2 * FPS}:scenecut=0:bframes=0:force-cfr=1"
        f":sliced-threads=0:{_COLOURS}",
    },
}


@dataclass(frozen=True)
class _Part:
    options: RoadSceneOptions
    start: int
    stop: int
    path: Path
    encoding: Encoding


def generate_road_scene(
    path: Path,
    truth_path: Path | None = None,
    options: RoadSceneOptions | None = None,
    *,
    encoding: Encoding = Encoding.FAST,
    processes: int | None = None,
    progress: Progress | None = None,
) -> SceneTruth:
    """Write a clip (MP4, H.264, no B-frames, a key frame every second or two) and its truth (JSON).

    Both appear whole or not at all; the truth comes first. Returns the truth. `processes` None uses
    two where there are two cores. Raises ValueError if the passes do not fit into the duration.
    """
    chosen = options or RoadSceneOptions()
    scene = RoadScene(chosen)
    truth = scene.truth()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        parts = _parts(chosen, scene.frame_count, Path(folder), encoding)
        done = 0
        for part in _written(parts, processes or min(2, available_processors())):
            done += part.stop - part.start
            if progress:
                progress(done, scene.frame_count)
        whole = Path(folder) / "clip.mp4"
        _join([part.path for part in parts], whole)
        if truth_path:
            with replaced(truth_path) as new:
                new.write_bytes(msgspec.json.format(msgspec.json.encode(truth)) + b"\n")
        with replaced(path) as new:
            shutil.move(whole, new)
    return truth


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Give a place to write to, and rename it to `path` once it was written without error."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        yield new
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _parts(options: RoadSceneOptions, frames: int, folder: Path, encoding: Encoding) -> list[_Part]:
    starts = range(0, frames, _PART_FRAMES)
    return [
        _Part(options, start, min(frames, start + _PART_FRAMES), folder / f"{start}.mp4", encoding)
        for start in starts
    ]


def _written(parts: list[_Part], processes: int) -> Iterator[_Part]:
    """Write all parts, giving each once it is done, in order."""
    if processes < 2 or len(parts) < 2:
        yield from map(_write, parts)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_end_with_parent) as pool:
        yield from pool.map(_write, parts)


def _end_with_parent() -> None:
    """See to it that this process ends when its parent was killed: the pool alone would wait."""
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@lru_cache(maxsize=1)
def _scene(options: RoadSceneOptions) -> RoadScene:
    return RoadScene(options)


def _write(part: _Part) -> _Part:
    scene = _scene(part.options)
    with av.open(str(part.path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options=_ENCODERS[part.encoding])
        stream.width, stream.height = part.options.width_px, part.options.height_px
        stream.pix_fmt = "yuv420p"
        stream.codec_context.thread_count = 1
        for index in range(part.start, part.stop):
            frame = av.VideoFrame.from_ndarray(scene.planes(index), format="yuv420p")
            frame.pts, frame.time_base = index - part.start, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return part


def _join(paths: list[Path], whole: Path) -> None:
    """Put parts one behind the other without encoding them again."""
    with av.open(str(whole), "w", options={"movflags": "faststart"}) as target:
        stream = None
        offset = 0
        for path in paths:
            with av.open(str(path)) as source:
                part = source.streams.video[0]
                if stream is None:
                    stream = target.add_stream_from_template(part)
                ticks = round(1 / (FPS * (part.time_base or Fraction(1, FPS))))
                for packet in source.demux(part):
                    if packet.pts is None:
                        continue
                    packet.pts += offset
                    packet.dts = packet.pts
                    packet.stream = stream
                    target.mux(packet)
                offset += part.frames * ticks
