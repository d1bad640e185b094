"""A stream at rest is decoded at its key frames; what moves is seen from its first frame on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from typing import Any, cast

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.capture.camera_stream import CameraStream, OpenedStream
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.hls import PlayedSegments
from ingest.capture.looking import FrameLooker
from ingest.capture.messages import Looked, LookSettings, MotionRules, Report
from ingest.clocks import Instant

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
    reports: list[Report] = field(default_factory=list)

    @property
    def sent(self) -> int:
        return sum(isinstance(report, Looked) and report.moves for report in self.reports)


def _nothing(seconds: float, image: NDArray[np.uint8]) -> None:
    pass


def _passing(begin: float, end: float) -> Painter:
    """A bright block that runs through the picture."""

    def paint(seconds: float, image: NDArray[np.uint8]) -> None:
        if begin <= seconds < end:
            left = round((seconds - begin) / (end - begin) * WIDTH_PX)
            image[60:110, left : left + 60] = 220

    return paint


def _video(
    seconds: float,
    paint: Painter = _nothing,
    *,
    size: tuple[int, int] = (WIDTH_PX, HEIGHT_PX),
    **options: str,
) -> bytes:
    """A noisy still scene, on which is painted; H.264 in a transport stream."""
    file = BytesIO()
    rng = np.random.default_rng(1)
    scene = rng.integers(60, 120, (HEIGHT_PX, WIDTH_PX)).astype(np.float32)
    with av.open(file, "w", format="mpegts") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        group = str(GROUP_SECONDS * FPS)
        basic: dict[str, str] = {"preset": "ultrafast", "bf": "0", "g": group, "sc_threshold": "0"}
        stream.options = {**basic, **options}
        for number in range(round(seconds * FPS)):
            noisy = scene + rng.normal(0, 3, scene.shape)
            image = np.clip(noisy, 0, 255).astype(np.uint8)
            paint(number / FPS, image)
            frame = av.VideoFrame.from_ndarray(image, format="gray").reformat(*size, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file.getvalue()


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


def _watch(
    video: bytes,
    *,
    rests: bool = True,
    alter: Callable[[int, Any], None] = lambda *_: None,
) -> Watch:
    """Look at a stream as a capture process does."""
    watch = Watch()
    container = cast("Any", Altered(av.open(BytesIO(video)), alter))
    looker = FrameLooker(1, SETTINGS, 5, watch.reports.append)
    looker.connected()
    deadline = ConnectionDeadline()
    opened = CameraStream(OpenedStream(container), 1, deadline, PlayedSegments(), PacketClock())
    first: float | None = None
    with opened as stream:
        for frame in stream.frames():
            assert frame.stream_seconds is not None
            first = frame.stream_seconds if first is None else first
            seconds = round(frame.stream_seconds - first, 2)
            taken_ms = round(frame.stream_seconds * 1000)
            if frame.is_glimpse:
                watch.glimpses.append(seconds)
                looker.glimpse(frame.decoded, taken_ms, frame.arrival)
            else:
                watch.whole.append(seconds)
                watch.sizes.append((frame.decoded.width_px, frame.decoded.height_px))
                looker.look(frame.decoded, frame.stream_seconds, taken_ms, frame.arrival)
            stream.rest(looker.is_still and rests)
    return watch


def _frames(begin: float, end: float) -> set[float]:
    return {round(number / FPS, 2) for number in range(round(begin * FPS), round(end * FPS))}


def test_of_a_still_scene_key_frames_only_are_decoded() -> None:
    watch = _watch(_video(40))

    assert len(watch.glimpses) >= 11
    # What is held back at the end of the stream is decoded then.
    assert not [seconds for seconds in watch.whole if REST_SECONDS <= seconds <= 38]
    assert watch.glimpses == sorted(watch.glimpses)


def test_resting_can_be_switched_off() -> None:
    watch = _watch(_video(30), rests=False)

    assert watch.glimpses == []
    assert len(watch.whole) == 30 * FPS


@pytest.mark.parametrize("begin", [20.1, 20.7, 21.3])
def test_what_passes_between_two_key_frames_is_seen_whole(begin: float) -> None:
    watch = _watch(_video(30, _passing(begin, begin + 0.6)))

    assert watch.glimpses
    assert min(watch.whole) < 1
    assert _frames(20 + 1 / FPS, 22) <= set(watch.whole)
    assert watch.whole == sorted(set(watch.whole))
    # Those in which it moves, and those of the three seconds after it.
    assert watch.sent >= 3 + 15


def test_a_stream_whose_frames_are_reordered_is_decoded_whole() -> None:
    watch = _watch(_video(24, bf="2"))

    assert watch.glimpses == []
    assert len(watch.whole) == 24 * FPS


def test_what_only_the_key_frame_shows_is_seen_from_the_one_before_on() -> None:
    # It comes so slowly that packets hardly grow.
    def fade(seconds: float, image: NDArray[np.uint8]) -> None:
        share = min(1.0, max(0.0, (seconds - 20) / 6))
        part = image[40:140, 80:240]
        image[40:140, 80:240] = (part + share * (200 - part.astype(np.float32))).astype(np.uint8)

    watch = _watch(_video(30, fade))

    opened = min(seconds for seconds in watch.whole if seconds > REST_SECONDS)
    # The first frame that is looked at again follows a key frame, at which nothing was to be seen.
    assert 20 <= opened <= 25
    assert _frames(opened, 28) <= set(watch.whole)
    assert watch.whole == sorted(set(watch.whole))


def test_a_stream_that_lies_about_key_frames_is_decoded_whole() -> None:
    def lie(number: int, packet: Any) -> None:
        if number % (GROUP_SECONDS * FPS) == FPS:
            packet.is_keyframe = True
        elif number > 10 * FPS:
            packet.is_keyframe = False

    watch = _watch(_video(30, _passing(20, 21)), alter=lie)

    assert _frames(20, 21) <= set(watch.whole)
    assert len(watch.whole) >= 29 * FPS


def test_a_stream_that_calls_every_frame_a_key_frame_is_decoded_whole() -> None:
    def lie(number: int, packet: Any) -> None:
        packet.is_keyframe = True

    watch = _watch(_video(25), alter=lie)

    assert len(watch.whole) == 25 * FPS


def test_without_a_key_frame_for_a_minute_the_stream_is_opened_in_time() -> None:
    def lie(number: int, packet: Any) -> None:
        if number > 20 * FPS:
            packet.is_keyframe = False

    watch = _watch(_video(80), alter=lie)

    # At rest until the next one is overdue. What was held back until then comes late, but comes.
    assert watch.glimpses
    assert _frames(20, 80) <= set(watch.whole) | set(watch.glimpses)


def test_a_stream_may_change_its_size_while_at_rest() -> None:
    small = _video(24)
    large = _video(20, _passing(10, 11), size=(480, 270))

    watch = _watch(small + large)

    assert (480, 270) in watch.sizes
    assert watch.sent >= 15 + 5


def test_a_stream_whose_time_starts_again_goes_on() -> None:
    watch = _watch(_video(24) + _video(20, _passing(10, 11)))

    assert watch.glimpses
    assert watch.sent >= 15 + 5
    assert len([seconds for seconds in watch.whole if 10 <= seconds < 11]) >= FPS


def test_what_is_held_back_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.capture.camera_stream.MAX_HELD_PACKETS", 10)
    watch = _watch(_video(30))

    assert watch.glimpses
    assert len(watch.whole) >= 29 * FPS
