"""Cameras behind TLS that sign their own certificates."""

from pathlib import Path

import pytest

from contracts.stream_urls import StreamUrlRules, parse_stream_url
from ingest.capture import CaptureLimits, open_stream
from ingest.watch import Watch
from tests.integration.ingest.http_cameras import HttpCamera
from tests.integration.ingest.tls import TlsFront
from tests.services.rtsp import RtspCamera

pytestmark = pytest.mark.integration

RULES = StreamUrlRules(allow_loopback=True)
LIMITS = CaptureLimits(open_timeout_seconds=5, read_timeout_seconds=3, decoder_threads=1)


def _width_px(url: str) -> int:
    with open_stream(parse_stream_url(url, RULES), RULES, LIMITS, Watch()) as stream:
        return next(stream.frames()).picture.width_px


def test_an_rtsps_camera_is_read(tmp_path: Path, moving_clip: Path) -> None:
    with (
        RtspCamera(moving_clip, user="user", password="hunter2") as camera,
        TlsFront(camera.port, tmp_path) as front,
    ):
        assert _width_px(f"rtsps://user:hunter2@127.0.0.1:{front.port}/camera") == 640


def test_an_https_camera_is_read(tmp_path: Path) -> None:
    with HttpCamera() as camera, TlsFront(camera.port, tmp_path) as front:
        assert _width_px(f"https://localhost:{front.port}/mjpeg") == 640
