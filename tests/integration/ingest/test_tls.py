"""Cameras over TLS with self-signed certificates."""

from dataclasses import replace
from pathlib import Path

import pytest

from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.messages import CaptureLimits
from ingest.capture.opening import open_stream
from ingest.errors import CaptureError, CaptureErrorCode
from tests.integration.ingest.http_cameras import HttpCamera
from tests.integration.ingest.tls import TlsFront
from tests.services.authority import Authority
from tests.services.rtsp import RtspCamera

pytestmark = pytest.mark.integration

RULES = StreamUrlRules(allow_loopback=True)
LIMITS = CaptureLimits(open_timeout_seconds=5, read_timeout_seconds=3)


def _width_px(url: str, limits: CaptureLimits = LIMITS) -> int:
    with open_stream(parse_stream_url(url, RULES), RULES, limits, ConnectionDeadline()) as stream:
        return next(stream.frames()).decoded.width_px


def test_an_rtsps_camera_is_read(tmp_path: Path, moving_clip: Path) -> None:
    with (
        RtspCamera(moving_clip, user="user", password="hunter2") as camera,
        TlsFront(camera.port, tmp_path) as front,
    ):
        assert _width_px(f"rtsps://user:hunter2@127.0.0.1:{front.port}/camera") == 640


def test_an_https_camera_is_read(tmp_path: Path) -> None:
    with HttpCamera() as camera, TlsFront(camera.port, tmp_path) as front:
        assert _width_px(f"https://localhost:{front.port}/mjpeg") == 640


def test_cameras_that_an_authority_vouches_for_are_read(tmp_path: Path, moving_clip: Path) -> None:
    authority = Authority.make(tmp_path)
    limits = replace(LIMITS, ca_file=str(authority.ca_file))
    with (
        RtspCamera(moving_clip) as rtsp,
        HttpCamera() as http,
        TlsFront(rtsp.port, tmp_path, authority.server_file) as rtsps,
        TlsFront(http.port, tmp_path, authority.server_file) as https,
    ):
        assert _width_px(f"rtsps://127.0.0.1:{rtsps.port}/camera", limits) == 640
        assert _width_px(f"https://127.0.0.1:{https.port}/mjpeg", limits) == 640


@pytest.mark.parametrize("url", ["rtsps://user:hunter2@{}/camera", "https://user:hunter2@{}/mjpeg"])
@pytest.mark.parametrize("trouble", ["signed-by-itself", "of-another-host"])
def test_cameras_whose_certificate_proves_nothing_get_no_password(
    tmp_path: Path, url: str, trouble: str
) -> None:
    authority = Authority.make(tmp_path)
    limits = replace(LIMITS, ca_file=str(authority.ca_file))
    shown = None if trouble == "signed-by-itself" else authority.server_file
    host = "127.0.0.1" if trouble == "signed-by-itself" else "localhost"
    with (
        HttpCamera() as camera,
        TlsFront(camera.port, tmp_path, shown) as front,
        pytest.raises(CaptureError) as caught,
    ):
        _width_px(url.format(f"{host}:{front.port}"), limits)

    assert caught.value.code is CaptureErrorCode.CERTIFICATE
    assert front.trusted_by == 0
