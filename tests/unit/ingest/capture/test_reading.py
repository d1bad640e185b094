"""Each connection of a reader ends with a reason, and the next connection follows."""

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture import reading
from ingest.capture.decoded_frame import StreamFrame
from ingest.capture.messages import CaptureLimits, ReaderSettings
from ingest.capture.reading import CameraConnection, CapturedFrame, FrameReader, StreamOpened
from ingest.clocks import Instant, MonotonicWallClock
from ingest.errors import CaptureError, CaptureErrorCode

ADDRESSES = StreamUrlRules(allow_loopback=True)
SETTINGS = ReaderSettings(
    addresses=ADDRESSES,
    limits=CaptureLimits(open_timeout_seconds=1, read_timeout_seconds=1),
    reconnect_min_seconds=0.001,
    reconnect_max_seconds=0.001,
)


class FakeStream:
    """A stream of three frames without times, followed by ``error`` or the end."""

    is_segmented = False
    at_keyframe = True

    def __init__(self, error: Exception | None) -> None:
        self.is_closed = False
        self._error = error

    def frames(self) -> Iterator[StreamFrame]:
        for _ in range(3):
            yield StreamFrame(None, None, None, Instant(0, 0.0))  # type: ignore[arg-type]
        if self._error is not None:
            raise self._error

    def __enter__(self) -> "FakeStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.is_closed = True


class Camera:
    """Opens one stream after another. Each stream ends with its error."""

    def __init__(self, *errors: Exception | None) -> None:
        self.streams = [FakeStream(error) for error in errors]
        self._unopened = iter(self.streams)

    def open(self, *_: Any) -> FakeStream:
        return next(self._unopened)


def _connections(
    monkeypatch: pytest.MonkeyPatch, *errors: Exception | None
) -> tuple[Camera, FrameReader, Iterator[CameraConnection]]:
    camera = Camera(*errors)
    monkeypatch.setattr(reading, "open_stream", camera.open)
    url = parse_stream_url("rtsp://127.0.0.1/live", ADDRESSES)
    reader = FrameReader("camera-1", url, SETTINGS, MonotonicWallClock())
    return camera, reader, reader.connections()


def test_a_connection_reports_its_opening_then_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, connections = _connections(monkeypatch, None)
    with next(connections) as connection:
        events = list(connection)

    assert [type(event) for event in events] == [StreamOpened, *[CapturedFrame] * 3]
    assert connection.error_code is CaptureErrorCode.ENDED
    assert not connection.is_stopped


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CaptureError(CaptureErrorCode.SILENT), CaptureErrorCode.SILENT),
        (ValueError("rtsp://user:password@127.0.0.1/live"), CaptureErrorCode.INTERNAL),
    ],
    ids=["a capture error", "any other"],
)
def test_an_error_of_the_stream_ends_its_connection_only(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: CaptureErrorCode
) -> None:
    camera, _, connections = _connections(monkeypatch, error, None)
    with capture_logs() as logs, next(connections) as connection:
        list(connection)
    with next(connections) as following:
        frames = [event for event in following if isinstance(event, CapturedFrame)]

    assert connection.error_code is code
    assert camera.streams[0].is_closed
    assert len(frames) == 3
    assert "password" not in str(logs)


def test_an_error_while_a_frame_is_handled_closes_the_stream_and_connects_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    camera, _, connections = _connections(monkeypatch, None, None)
    with next(connections) as connection:
        for event in connection:
            if isinstance(event, CapturedFrame):
                raise MemoryError

    assert connection.error_code is CaptureErrorCode.INTERNAL
    assert camera.streams[0].is_closed
    with next(connections) as following:
        assert isinstance(next(iter(following)), StreamOpened)


def test_a_stopped_reader_ends_its_connection_and_makes_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    camera, reader, connections = _connections(monkeypatch, None, None)
    with next(connections) as connection:
        for event in connection:
            if isinstance(event, CapturedFrame):
                reader.stop()

    assert connection.is_stopped
    assert camera.streams[0].is_closed
    assert next(connections, None) is None
