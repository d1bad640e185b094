"""Encoded scenes with little motion, and the results of a capture."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from typing import Any, cast

import av
import numpy as np
from numpy.typing import NDArray

from ingest.capture.camera_stream import CameraStream, OpenedStream
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.frame_sampler import FrameSampler
from ingest.capture.hls import PlayedSegments
from ingest.capture.messages import FrameSettings, Report, Sampled
from ingest.capture.reading import CapturedFrame
from ingest.clocks import Instant

FPS = 25
GROUP_SECONDS = 2
REST_SECONDS = 16
"""Time after which motion detection has settled and knows the scene's noise."""

WIDTH_PX, HEIGHT_PX = 320, 180
SETTINGS = FrameSettings(
    motion_hold_seconds=3, jpeg_quality=50, max_width_px=0, snapshot_interval_seconds=5
)
Painter = Callable[[float, NDArray[np.uint8]], None]


class PacketClock:
    """A clock that advances by the duration of a frame with each packet."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> Instant:
        self.seconds += 1 / FPS
        return Instant(1_800_000_000_000 + round(self.seconds * 1000), self.seconds)


@dataclass
class Watch:
    """The results of a stream's frames, by the time in the stream."""

    whole: list[float] = field(default_factory=list)
    glimpses: list[float] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    @property
    def sent(self) -> int:
        return sum(isinstance(report, Sampled) and report.moves for report in self.reports)


def nothing(seconds: float, image: NDArray[np.uint8]) -> None:
    pass


def passing(begin: float, end: float) -> Painter:
    """Return a painter of a bright block that crosses the image from ``begin`` to ``end``."""

    def paint(seconds: float, image: NDArray[np.uint8]) -> None:
        if begin <= seconds < end:
            left = round((seconds - begin) / (end - begin) * WIDTH_PX)
            image[60:110, left : left + 60] = 220

    return paint


def video(
    seconds: float,
    paint: Painter = nothing,
    *,
    size: tuple[int, int] = (WIDTH_PX, HEIGHT_PX),
    options: Mapping[str, str] | None = None,
) -> bytes:
    """Return a noisy still scene with painted changes, as H.264 in a transport stream."""
    file = BytesIO()
    rng = np.random.default_rng(1)
    scene = rng.integers(60, 120, (HEIGHT_PX, WIDTH_PX)).astype(np.float32)
    with av.open(file, "w", format="mpegts") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        group = str(GROUP_SECONDS * FPS)
        basic: dict[str, str] = {"preset": "ultrafast", "bf": "0", "g": group, "sc_threshold": "0"}
        stream.options = {**basic, **(options or {})}
        for number in range(round(seconds * FPS)):
            noisy = scene + rng.normal(0, 3.0, scene.shape)
            image = np.clip(noisy, 0, 255).astype(np.uint8)
            paint(number / FPS, image)
            frame = av.VideoFrame.from_ndarray(image, format="gray").reformat(*size, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file.getvalue()


class Altered:
    """A container whose packets a test changes."""

    def __init__(self, container: Any, alter: Callable[[int, Any], None]) -> None:
        self._container = container
        self._alter = alter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._container, name)

    def demux(self) -> Iterator[Any]:
        for number, packet in enumerate(self._container.demux()):
            if packet.size:
                self._alter(number, packet)
            yield packet


def watch_stream(
    encoded: bytes,
    *,
    may_reduce: bool = True,
    alter: Callable[[int, Any], None] = lambda *_: None,
) -> Watch:
    """Process a stream as a capture process does, and return the results."""
    watch = Watch()
    container = cast("Any", Altered(av.open(BytesIO(encoded)), alter))
    looker = FrameSampler(1, SETTINGS, 5, watch.reports.append)
    looker.connected()
    deadline = ConnectionDeadline()
    opened = CameraStream(OpenedStream(container), deadline, PlayedSegments(), PacketClock())
    first: float | None = None
    with opened as stream:
        for frame in stream.frames():
            assert frame.stream_seconds is not None
            first = frame.stream_seconds if first is None else first
            seconds = round(frame.stream_seconds - first, 2)
            taken_ms = round(frame.stream_seconds * 1000)
            if frame.is_lone_key_frame:
                watch.glimpses.append(seconds)
            else:
                watch.whole.append(seconds)
                watch.sizes.append((frame.decoded.width_px, frame.decoded.height_px))
            captured = CapturedFrame(
                frame.decoded,
                frame.stream_seconds,
                taken_ms,
                frame.arrival,
                frame.is_lone_key_frame,
            )
            looker.process(captured)
            stream.reduce_decoding(looker.is_still and may_reduce)
    return watch


def frames_between(begin: float, end: float) -> set[float]:
    return {round(number / FPS, 2) for number in range(round(begin * FPS), round(end * FPS))}
