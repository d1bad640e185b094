"""Encoded still scenes in which something moves, and what a capture makes of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from typing import Any, cast

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from ingest.capture.camera_stream import CameraStream, OpenedStream
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.decoded_frame import DecodedFrame
from ingest.capture.held_packets import StreamKept
from ingest.capture.hls import PlayedSegments
from ingest.capture.looking import FrameLooker
from ingest.capture.messages import Looked, LookSettings, MotionRules, Report
from ingest.capture.sampling import GreyImage, MotionGate
from ingest.clocks import Instant
from ingest.errors import CaptureErrorCode
from ingest.motion.trust import MotionTrust

FPS = 25
GROUP_SECONDS = 2
REST_SECONDS = 16
"""Until the motion gate has closed, and the noise of the scene is known."""

WIDTH_PX, HEIGHT_PX = 320, 180
SETTINGS = LookSettings(
    motion=MotionRules(hold_seconds=3), jpeg_quality=50, max_width_px=0, snapshot_interval_seconds=5
)
Painter = Callable[[float, NDArray[np.uint8]], None]


class PacketClock:
    """Goes on by a frame's time whenever a packet comes."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> Instant:
        self.seconds += 1 / FPS
        return Instant(1_800_000_000_000 + round(self.seconds * 1000), self.seconds)


@dataclass
class Watch:
    """What became of a stream's frames, by their time in it."""

    whole: list[float] = field(default_factory=list)
    glimpses: list[float] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    kept: list[StreamKept] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    @property
    def sent(self) -> int:
        return sum(isinstance(report, Looked) and report.moves for report in self.reports)


def nothing(seconds: float, image: NDArray[np.uint8]) -> None:
    pass


def passing(begin: float, end: float) -> Painter:
    """A bright block that runs through the picture."""

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
    fps: int = FPS,
    scene_number: int | None = None,
    noise: float = 3.0,
    **options: str,
) -> bytes:
    """A noisy still scene, on which is painted; H.264 in a transport stream.

    Without a number it is small-grained, so that nothing of it is left in a small picture.
    """
    file = BytesIO()
    rng = np.random.default_rng(1)
    if scene_number is None:
        scene = rng.integers(60, 120, (HEIGHT_PX, WIDTH_PX)).astype(np.float32)
    else:
        scene = _scene(scene_number)
    tile = rng.normal(0, 1, scene.shape).astype(np.float32)
    with av.open(file, "w", format="mpegts") as container:
        stream = container.add_stream("libx264", rate=fps)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        group = str(GROUP_SECONDS * fps)
        basic: dict[str, str] = {"preset": "ultrafast", "bf": "0", "g": group, "sc_threshold": "0"}
        stream.options = {**basic, **options}
        for number in range(round(seconds * fps)):
            if scene_number is None:
                noisy = scene + rng.normal(0, noise, scene.shape)
            else:
                # Drawing it anew takes longer than all the rest.
                shift = tuple(int(each) for each in rng.integers(0, scene.shape))
                noisy = scene + noise * np.roll(tile, shift, axis=(0, 1))
            image = np.clip(noisy, 0, 255).astype(np.uint8)
            paint(number / fps, image)
            frame = av.VideoFrame.from_ndarray(image, format="gray").reformat(*size, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file.getvalue()


def _scene(number: int) -> NDArray[np.float32]:
    """Something large, as streets and houses are, and something small."""
    rng = np.random.default_rng(number)
    coarse = rng.integers(40, 140, (9, 16)).astype(np.float32)
    large = cv2.resize(coarse, (WIDTH_PX, HEIGHT_PX), interpolation=cv2.INTER_NEAREST)
    small = rng.integers(-30, 30, (HEIGHT_PX, WIDTH_PX)).astype(np.float32)
    return np.asarray(large + small, np.float32)


class Altered:
    """A container whose packets a test has changed."""

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


class SmallStream:
    """A camera's motion stream, read as far as the main one, or ``late_seconds`` behind it."""

    glimpse_seconds = 5.0

    def __init__(self, *encoded: bytes, late_seconds: float = 0.0) -> None:
        self._frames = self._decoded(encoded)
        self._next = next(self._frames, None)
        self._late_seconds = late_seconds
        self._gate = MotionGate(MotionRules(hold_seconds=3))
        self.trust = MotionTrust(3, 0.0)
        self.faults: dict[CaptureErrorCode | None, float] = {}
        """Each that was there, with the second at which it first was."""

    def is_quiet(self, now_seconds: float) -> bool | None:
        """As a motion stream says it."""
        while self._next is not None and self._next[0] + self._late_seconds <= now_seconds:
            seconds, grey = self._next
            self._gate.passes(grey, round(seconds * 1000))
            self.trust.pictured(grey, self._gate.has_moved, seconds + self._late_seconds)
            self._next = next(self._frames, None)
        self.faults.setdefault(self.trust.fault(now_seconds), now_seconds)
        return self.trust.is_quiet(now_seconds)

    def _decoded(self, encoded: tuple[bytes, ...]) -> Iterator[tuple[float, GreyImage]]:
        begin = seconds = 0.0
        for each in encoded:
            first: float | None = None
            with av.open(BytesIO(each), "r") as container:
                for frame in container.decode(video=0):
                    assert frame.time is not None
                    first = frame.time if first is None else first
                    seconds = begin + frame.time - first
                    yield seconds, DecodedFrame(frame).grey()
            begin = seconds + 0.2


def watch_stream(
    encoded: bytes,
    *,
    rests: bool = True,
    small: "SmallStream | None" = None,
    alter: Callable[[int, Any], None] = lambda *_: None,
) -> Watch:
    """Look at a stream as a capture process does."""
    watch = Watch()
    container = cast("Any", Altered(av.open(BytesIO(encoded)), alter))
    looker = FrameLooker(1, SETTINGS, 5, watch.reports.append)
    looker.connected()
    if small is not None:
        looker.on_judged = small.trust.main_pictured
    deadline = ConnectionDeadline()
    opened = CameraStream(OpenedStream(container), 1, deadline, PlayedSegments(), PacketClock())
    first: float | None = None
    with opened as stream:
        if small is not None:
            stream.watched_by(small)
        for frame in stream.events():
            if isinstance(frame, StreamKept):
                watch.kept.append(frame)
                oldest = frame.oldest
                looker.kept(oldest.unix_ms, oldest, frame.arrival)
                stream.rest(looker.is_still and rests)
                continue
            assert frame.stream_seconds is not None
            first = frame.stream_seconds if first is None else first
            seconds = round(frame.stream_seconds - first, 2)
            taken_ms = round(frame.stream_seconds * 1000)
            if frame.is_glimpse:
                watch.glimpses.append(seconds)
                looker.glimpse(frame.decoded, taken_ms, frame.arrival, has_older=frame.has_older)
            else:
                watch.whole.append(seconds)
                watch.sizes.append((frame.decoded.width_px, frame.decoded.height_px))
                looker.look(frame.decoded, frame.stream_seconds, taken_ms, frame.arrival)
            stream.rest(looker.is_still and rests)
    return watch


def frames_between(begin: float, end: float) -> set[float]:
    return {round(number / FPS, 2) for number in range(round(begin * FPS), round(end * FPS))}
