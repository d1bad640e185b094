"""A stream that brings packets brings pictures too, or it is over."""

from fractions import Fraction
from io import BytesIO

import av
import numpy as np
import pytest

from ingest.camera_stream import CameraStream, OpenedStream
from ingest.decoding import DecodeEffort
from ingest.faults import CaptureError, CaptureFault
from ingest.played_segments import PlayedSegments
from ingest.watch import KEY_FRAME_SECONDS, Watch

FPS = 25
ENDLESS = {"g": "100000", "sc_threshold": "0"}
INTRA_REFRESH = {"g": "50", "intra-refresh": "1"}


class PacketClock:
    """A clock that goes on by a frame's time whenever it is looked at."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1 / FPS
        return self.seconds


def _video(seconds: float, options: dict[str, str]) -> BytesIO:
    file = BytesIO()
    image = np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    with av.open(file, "w", format="mpegts") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        stream.options = {"preset": "ultrafast", "tune": "zerolatency", "bf": "0", **options}
        for number in range(round(seconds * FPS)):
            frame = av.VideoFrame.from_ndarray(np.roll(image, number, axis=1), format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    file.seek(0)
    return file


def _stream(file: BytesIO, clock: PacketClock) -> CameraStream:
    container = av.container.open(file, "r")
    return CameraStream(OpenedStream(container), 1, Watch(clock), PlayedSegments())


@pytest.mark.parametrize(
    "options", [ENDLESS, INTRA_REFRESH], ids=["an endless group of pictures", "intra refresh"]
)
def test_a_stream_without_key_pictures_ends_when_nothing_else_is_decoded(
    options: dict[str, str],
) -> None:
    clock = PacketClock()
    with _stream(_video(KEY_FRAME_SECONDS + 5, options), clock) as stream:
        frames = stream.frames()
        next(frames)
        stream.set_effort(DecodeEffort.KEYFRAMES)
        with pytest.raises(CaptureError) as caught:
            list(frames)

    assert caught.value.fault is CaptureFault.SILENT
    assert clock.seconds == pytest.approx(KEY_FRAME_SECONDS, abs=1)


def test_key_pictures_half_a_minute_apart_are_waited_for() -> None:
    with _stream(_video(91, {"g": str(30 * FPS), "sc_threshold": "0"}), PacketClock()) as stream:
        frames = stream.frames()
        next(frames)
        stream.set_effort(DecodeEffort.KEYFRAMES)

        assert len(list(frames)) == 3


def test_a_stream_that_is_decoded_whole_has_the_longer_time() -> None:
    with _stream(_video(30, ENDLESS), PacketClock()) as stream:
        assert len(list(stream.frames())) == 30 * FPS


@pytest.mark.parametrize("video_first", [True, False])
def test_all_pictures_come_out_beside_another_stream(video_first: bool) -> None:
    file = BytesIO()
    with av.open(file, "w", format="mpegts") as container:
        if not video_first:
            sound = container.add_stream("aac", rate=8000)
        video = container.add_stream("libx264", rate=FPS)
        video.width, video.height, video.pix_fmt = 64, 64, "yuv420p"
        video.options = {"bf": "2"}
        if video_first:
            sound = container.add_stream("aac", rate=8000)
        for number in range(50):
            shade = np.full((64, 64, 3), number * 5, dtype=np.uint8)
            frame = av.VideoFrame.from_ndarray(shade, format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(video.encode(frame))
        silence = av.AudioFrame.from_ndarray(
            np.zeros((1, 16_000), dtype=np.float32), format="fltp", layout="mono"
        )
        silence.sample_rate = 8000
        container.mux(sound.encode(silence))
        for stream in (video, sound):
            container.mux(stream.encode())
    file.seek(0)

    with _stream(file, PacketClock()) as opened:
        assert len(list(opened.frames())) == 50
