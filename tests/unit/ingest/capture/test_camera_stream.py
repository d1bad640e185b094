"""A stream that delivers packets must also deliver frames, or it ends."""

from fractions import Fraction
from io import BytesIO

import av
import numpy as np
import pytest

from ingest.capture.camera_stream import CameraStream, OpenedStream
from ingest.capture.deadline import KEY_FRAME_SECONDS, ConnectionDeadline
from ingest.capture.decode_control import DecodeControl, DecodeEffort
from ingest.capture.hls import PlayedSegments
from ingest.errors import CaptureError, CaptureErrorCode

FPS = 25
ENDLESS = {"g": "100000", "sc_threshold": "0"}
INTRA_REFRESH = {"g": "50", "intra-refresh": "1"}


class PacketClock:
    """A clock that advances with each call, by default by the duration of a frame."""

    def __init__(self, step_seconds: float = 1 / FPS) -> None:
        self.seconds = 0.0
        self._step_seconds = step_seconds

    def __call__(self) -> float:
        self.seconds += self._step_seconds
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
    return CameraStream(OpenedStream(container), ConnectionDeadline(clock), PlayedSegments())


@pytest.mark.parametrize(
    "options", [ENDLESS, INTRA_REFRESH], ids=["an endless group of frames", "intra refresh"]
)
def test_a_stream_without_key_frames_ends_when_nothing_else_is_decoded(
    options: dict[str, str],
) -> None:
    clock = PacketClock()
    with _stream(_video(KEY_FRAME_SECONDS + 5, options), clock) as stream:
        frames = stream.frames()
        next(frames)
        stream.set_effort(DecodeEffort.KEYFRAMES)
        with pytest.raises(CaptureError) as caught:
            list(frames)

    assert caught.value.code is CaptureErrorCode.SILENT
    assert clock.seconds == pytest.approx(KEY_FRAME_SECONDS, abs=1)


def test_key_frames_half_a_minute_apart_are_waited_for() -> None:
    with _stream(_video(91, {"g": str(30 * FPS), "sc_threshold": "0"}), PacketClock()) as stream:
        frames = stream.frames()
        next(frames)
        stream.set_effort(DecodeEffort.KEYFRAMES)

        assert len(list(frames)) == 3


def test_a_stream_that_is_decoded_whole_has_the_longer_time() -> None:
    with _stream(_video(30, ENDLESS), PacketClock()) as stream:
        assert len(list(stream.frames())) == 30 * FPS


@pytest.mark.parametrize("video_first", [True, False])
def test_all_frames_are_decoded_next_to_another_stream(video_first: bool) -> None:
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


def test_a_second_video_does_not_stand_in_for_the_first() -> None:
    file, shade = BytesIO(), np.zeros((64, 64, 3), dtype=np.uint8)
    with av.open(file, "w", format="mpegts") as container:
        streams = [container.add_stream("mpeg2video", rate=FPS) for _ in range(2)]
        for stream in streams:
            stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for number in range(250):
            for stream in streams[number > 25 :]:
                frame = av.VideoFrame.from_ndarray(shade, format="bgr24")
                frame.pts, frame.time_base = number, Fraction(1, FPS)
                container.mux(stream.encode(frame))
    file.seek(0)

    with _stream(file, PacketClock(1.0)) as opened, pytest.raises(CaptureError) as caught:
        list(opened.frames())
    assert caught.value.code is CaptureErrorCode.SILENT


ALL, REFERENCES, KEYFRAMES = DecodeEffort.ALL, DecodeEffort.REFERENCES, DecodeEffort.KEYFRAMES


def _far_behind() -> DecodeControl:
    control = DecodeControl()
    for tenth in range(12):
        control.next(2000, False, tenth / 10)
    assert control.effort is KEYFRAMES
    return control


def test_a_stream_in_time_is_decoded_whole() -> None:
    control = DecodeControl()

    assert {control.next(lag, False, lag / 100) for lag in range(0, 700, 10)} == {ALL}


def test_a_late_stream_skips_non_reference_frames() -> None:
    control = DecodeControl()

    assert control.next(800, False, 0) is REFERENCES
    assert control.next(500, False, 10) is REFERENCES
    assert control.next(200, False, 11) is ALL


def test_a_backlog_of_the_network_is_decoded_but_for_that() -> None:
    control = DecodeControl()
    # The stream is held up for four seconds, and then delivers 25 frames per tenth of a second.
    efforts = [control.next(4000 - 1000 * tenth, False, tenth / 10) for tenth in range(5)]

    assert KEYFRAMES not in efforts
    assert efforts[-1] is ALL


def test_a_stream_that_stays_far_too_late_decodes_key_frames_only() -> None:
    control = DecodeControl()

    efforts = [control.next(2000, False, tenth / 10) for tenth in range(12)]

    assert efforts == [REFERENCES] * 10 + [KEYFRAMES] * 2


def test_full_effort_returns_at_a_key_frame_in_time() -> None:
    control = _far_behind()

    assert control.next(100, False, 2.0) is KEYFRAMES
    assert control.next(500, True, 2.1) is KEYFRAMES
    assert control.next(100, True, 2.2) is ALL


def test_the_time_limit_restarts_after_a_stream_was_near() -> None:
    control = DecodeControl()
    control.next(2000, False, 0.0)
    control.next(1000, False, 0.5)

    assert control.next(2000, False, 1.2) is REFERENCES


def test_lag_that_comes_of_what_was_held_back_is_none_of_the_machine() -> None:
    control = DecodeControl()
    control.held_back(4000, 100.0)
    efforts = [control.next(4000 - 20 * tenth, False, 100 + tenth / 10) for tenth in range(190)]

    assert set(efforts) == {ALL}
    assert control.backlog_ms == 0


def test_a_stream_that_never_catches_up_is_forgiven_for_a_while_only() -> None:
    control = DecodeControl()
    control.held_back(4000, 100.0)

    assert control.next(4000, False, 119.9) is ALL
    assert control.next(4000, False, 120.0) is REFERENCES
    assert control.next(4000, False, 121.1) is KEYFRAMES
