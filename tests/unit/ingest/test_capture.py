"""A stream that brings packets brings pictures too, or it is over."""

from fractions import Fraction
from io import BytesIO

import av
import numpy as np
import pytest

from ingest.capture import CameraStream, CaptureLimits, _Opened
from ingest.decoding import DecodeEffort
from ingest.faults import CaptureError, CaptureFault
from ingest.played_segments import PlayedSegments
from ingest.watch import Watch

FPS = 25
LIMITS = CaptureLimits(open_timeout_seconds=1, read_timeout_seconds=1, decoder_threads=1)
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
    return CameraStream(_Opened(container), LIMITS, Watch(clock), PlayedSegments())


@pytest.mark.parametrize(
    "options", [ENDLESS, INTRA_REFRESH], ids=["an endless group of pictures", "intra refresh"]
)
def test_a_stream_without_key_pictures_ends_when_nothing_else_is_decoded(
    options: dict[str, str],
) -> None:
    clock = PacketClock()
    with _stream(_video(30, options), clock) as stream:
        frames = stream.frames()
        next(frames)
        stream.set_effort(DecodeEffort.KEYFRAMES)
        with pytest.raises(CaptureError) as caught:
            list(frames)

    assert caught.value.fault is CaptureFault.SILENT
    assert clock.seconds == pytest.approx(15, abs=1)


def test_key_pictures_ten_seconds_apart_are_waited_for() -> None:
    with _stream(_video(31, {"g": str(10 * FPS), "sc_threshold": "0"}), PacketClock()) as stream:
        frames = stream.frames()
        next(frames)
        stream.set_effort(DecodeEffort.KEYFRAMES)

        assert len(list(frames)) == 3


def test_a_stream_that_is_decoded_whole_has_the_longer_time() -> None:
    with _stream(_video(30, ENDLESS), PacketClock()) as stream:
        assert len(list(stream.frames())) == 30 * FPS
