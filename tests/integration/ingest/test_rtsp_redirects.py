"""RTSP redirects are followed only to networks that are allowed for cameras."""

import threading
import time
from pathlib import Path

import pytest

from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.messages import CaptureLimits
from ingest.capture.opening import open_stream
from ingest.errors import CaptureError, CaptureErrorCode
from tests.integration.ingest.rtsp_answers import SayingCamera
from tests.services.rtsp import RtspCamera

pytestmark = pytest.mark.integration

RULES = StreamUrlRules(allow_loopback=True)
LIMITS = CaptureLimits(open_timeout_seconds=3, read_timeout_seconds=1)
OPTIONS = "RTSP/1.0 200 OK\r\nCSeq: {cseq}\r\nPublic: DESCRIBE, SETUP, PLAY\r\n\r\n"
LOGIN = "user:hunter2@"


def _redirect(target: str) -> str:
    return f"RTSP/1.0 302 Moved\r\nCSeq: {{cseq}}\r\nLocation: {target}\r\n\r\n"


def _width_px(url: str) -> int:
    with open_stream(parse_stream_url(url, RULES), RULES, LIMITS, ConnectionDeadline()) as stream:
        return next(stream.frames()).decoded.width_px


def _fault(url: str) -> CaptureErrorCode:
    with pytest.raises(CaptureError) as caught:
        _width_px(url)
    return caught.value.code


@pytest.mark.parametrize(
    "target",
    [
        "rtsp://169.254.169.254/latest",
        "rtsp://[::ffff:169.254.169.254]/x",
        "rtsp://metadata.google.internal/x",
        "rtsp://0.0.0.0.example.invalid@169.254.169.254:80/x",
        "http://127.0.0.1/x",
        "file:///etc/passwd",
        "tcp://127.0.0.1:22",
    ],
)
@pytest.mark.parametrize("first", [[], [OPTIONS]], ids=["at once", "when asked to describe"])
def test_a_redirect_to_where_no_camera_may_be_is_refused(first: list[str], target: str) -> None:
    with SayingCamera(*first, _redirect(target)) as camera:
        assert _fault(camera.url()) is CaptureErrorCode.FORBIDDEN


@pytest.mark.parametrize("host", ["127.0.0.2", "[::ffff:127.0.0.2]"])
def test_a_redirect_into_a_denied_network_is_refused(host: str) -> None:
    denied = StreamUrlRules(allow_loopback=True, denied_networks="127.0.0.2")
    with SayingCamera(_redirect(f"rtsp://{host}:9/x")) as camera:
        url = parse_stream_url(camera.url(), denied)
        with pytest.raises(CaptureError) as caught:
            open_stream(url, denied, LIMITS, ConnectionDeadline())
    assert caught.value.code is CaptureErrorCode.FORBIDDEN


@pytest.mark.parametrize("target", ["", "nowhere", "rtsp://"])
def test_a_redirect_to_nowhere_is_no_stream(target: str) -> None:
    with SayingCamera(_redirect(target)) as camera:
        assert _fault(camera.url()) in (CaptureErrorCode.NO_STREAM, CaptureErrorCode.FORBIDDEN)


def test_a_redirect_to_another_camera_is_followed_without_the_password(moving_clip: Path) -> None:
    refusing = SayingCamera("RTSP/1.0 401 Unauthorized\r\nCSeq: {cseq}\r\n\r\n")
    with refusing, SayingCamera(OPTIONS, _redirect(refusing.url())) as camera:
        assert _fault(camera.url(LOGIN)) is CaptureErrorCode.CREDENTIALS
    assert refusing.requests
    assert not any("Authorization" in request for request in refusing.requests)

    with RtspCamera(moving_clip) as other, SayingCamera(OPTIONS, _redirect(other.url)) as camera:
        assert _width_px(camera.url(LOGIN)) == 640


def test_a_redirect_to_itself_ends() -> None:
    with SayingCamera("") as camera:
        camera._answers = (_redirect(camera.url()),)
        assert _fault(camera.url()) is CaptureErrorCode.NO_STREAM
        assert len(camera.requests) <= 5


@pytest.mark.parametrize(
    "answer",
    [
        # FFmpeg would interpret each of these as a redirect; other clients would not.
        "RTSP/1.0 200 OK\r\nCSeq: {cseq}\r\n$\0\0\4abcdRTSP/1.0 302 Moved\r\nLocation: {}\r\n\r\n",
        "RTSP/1.0 200 OK\r\nCSeq: {cseq}\r\nContent-Length: 0x40\r\n\r\n{302}",
        "RTSP/1.0 200 OK\r\nCSeq: {cseq}\r\nContent-Length: 5\r\ncontent-length: 0\r\n\r\n{302}",
        "RTSP/1.0  302 Moved\r\nCSeq: {cseq}\r\nLocation: {}\r\n\r\n",
        "RTSP/1.0\t302 Moved\r\nCSeq: {cseq}\r\nLocation: {}\r\n\r\n",
        "rtsp/1.0 302 Moved\r\nCSeq: {cseq}\r\nLocation: {}\r\n\r\n",
        "RTSP/1.0 +302 Moved\r\nCSeq: {cseq}\r\nLocation: {}\r\n\r\n",
    ],
)
def test_an_answer_that_can_be_read_in_two_ways_leads_nowhere(answer: str) -> None:
    with SayingCamera(OPTIONS) as inside:
        said = answer.replace("{302}", _redirect(inside.url())).replace("{}", inside.url("", "/y"))
        # Cameras on loopback are denied, except for the redirecting camera.
        rules = StreamUrlRules(allow_loopback=True)
        with SayingCamera(said) as camera, pytest.raises(CaptureError):
            open_stream(parse_stream_url(camera.url(), rules), rules, LIMITS, ConnectionDeadline())
    assert inside.requests == []


def test_a_reader_that_is_stopped_leaves_a_silent_rtsp_camera_at_once() -> None:
    deadline = ConnectionDeadline()
    limits = CaptureLimits(open_timeout_seconds=30, read_timeout_seconds=30)
    with SayingCamera("") as camera:
        threading.Timer(0.5, deadline.stop).start()
        begin = time.monotonic()
        with pytest.raises(CaptureError):
            open_stream(parse_stream_url(camera.url(), RULES), RULES, limits, deadline)
        assert time.monotonic() - begin < 5
