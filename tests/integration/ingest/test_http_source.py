"""HTTP cameras are read directly, and only in networks that are allowed for cameras."""

import socket
from pathlib import Path
from typing import Any

import pytest

from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.decoded_frame import StreamFrame
from ingest.capture.messages import CaptureLimits
from ingest.capture.opening import open_stream
from ingest.errors import CaptureError, CaptureErrorCode
from tests.integration.ingest.http_cameras import (
    HttpCamera,
    SilentCamera,
    closed_port,
    write_playlist,
)
from tests.services.rtsp_quirks import PASSWORD, USER

pytestmark = pytest.mark.integration

RULES = StreamUrlRules(allow_loopback=True)
LIMITS = CaptureLimits(open_timeout_seconds=3, read_timeout_seconds=1)
LOGIN = f"{USER}:{PASSWORD}"


def _frames(url: str, count: int) -> list[StreamFrame]:
    with open_stream(parse_stream_url(url, RULES), RULES, LIMITS, ConnectionDeadline()) as stream:
        return [frame for frame, _ in zip(stream.frames(), range(count), strict=False)]


def _fault(url: str, rules: StreamUrlRules = RULES) -> CaptureErrorCode:
    with pytest.raises(CaptureError) as caught:
        open_stream(parse_stream_url(url, RULES), rules, LIMITS, ConnectionDeadline())
    return caught.value.code


@pytest.mark.parametrize(
    ("path", "user"),
    [("/mjpeg", ""), ("/basic", LOGIN), ("/digest", LOGIN), ("/sha-256", LOGIN)],
)
def test_motion_jpeg_is_read_with_the_password_it_asks_for(path: str, user: str) -> None:
    with HttpCamera() as camera:
        frames = _frames(camera.url(path, user=user), 5)

    assert [frame.decoded.width_px for frame in frames] == [640] * 5
    # The camera's frames have no timestamps.
    assert {frame.stream_seconds for frame in frames} == {None}


@pytest.mark.parametrize("user", ["", "viewer:wrong", "other:hunter2"])
@pytest.mark.parametrize("path", ["/basic", "/digest", "/sha-256"])
def test_a_wrong_password_is_reported_as_such(path: str, user: str) -> None:
    with HttpCamera() as camera:
        assert _fault(camera.url(path, user=user)) is CaptureErrorCode.CREDENTIALS


def test_a_playlist_is_read_through_checked_connections(tmp_path: Path, moving_clip: Path) -> None:
    name = write_playlist(tmp_path, moving_clip)
    with HttpCamera(tmp_path) as camera:
        frames = _frames(camera.url(f"/hls/{name}"), 50)

    assert len(frames) >= 25
    seconds = [frame.stream_seconds for frame in frames]
    assert all(
        b is not None and a is not None and b > a
        for a, b in zip(seconds, seconds[1:], strict=False)
    )


def test_a_closed_port_a_silent_one_and_an_unknown_name_look_alike() -> None:
    with SilentCamera() as silent:
        faults = {
            _fault(f"{scheme}://127.0.0.1:{port}/x")
            for scheme in ("http", "https", "rtsp", "rtsps")
            for port in (silent.port, closed_port())
        }
    faults.add(_fault("http://no-such-camera.invalid/x"))
    faults.add(_fault("rtsp://no-such-camera.invalid/x"))

    assert faults == {CaptureErrorCode.UNREACHABLE}


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fe80::1]/",
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "rtsp://127.0.0.1/x",
    ],
)
def test_redirects_lead_nowhere_else(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    connected = _record_connections(monkeypatch)
    with HttpCamera() as camera:
        fault = _fault(camera.url(f"/to?{target}"))

    assert fault in (CaptureErrorCode.FORBIDDEN, CaptureErrorCode.NO_STREAM)
    assert connected == {"127.0.0.1"}


def test_playlists_lead_nowhere_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    connected = _record_connections(monkeypatch)
    entries = (
        "http://169.254.169.254/a.ts",
        "file:///etc/passwd",
        "http://[::ffff:a9fe:a9fe]/b.ts",
    )
    lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:1"]
    lines += [line for entry in entries for line in ("#EXTINF:1,", entry)]
    (tmp_path / "evil.m3u8").write_text("\n".join([*lines, "#EXT-X-ENDLIST", ""]))
    with HttpCamera(tmp_path) as camera, pytest.raises(CaptureError):
        _frames(camera.url("/hls/evil.m3u8"), 5)

    assert connected == {"127.0.0.1"}


def test_neither_redirects_nor_playlists_lead_into_a_denied_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connected = _record_connections(monkeypatch)
    denied = StreamUrlRules(allow_loopback=True, denied_networks="127.0.0.2")
    lines = ("#EXTM3U", "#EXT-X-TARGETDURATION:1", "#EXTINF:1,", "http://127.0.0.2:9/a.ts")
    (tmp_path / "inside.m3u8").write_text("\n".join([*lines, "#EXT-X-ENDLIST", ""]))
    with HttpCamera(tmp_path) as camera:
        for target in ("http://127.0.0.2:9/x", "http://[::ffff:127.0.0.2]:9/x"):
            assert _fault(camera.url(f"/to?{target}"), denied) is CaptureErrorCode.FORBIDDEN
        with (
            pytest.raises(CaptureError),
            open_stream(
                parse_stream_url(camera.url("/hls/inside.m3u8"), denied),
                denied,
                LIMITS,
                ConnectionDeadline(),
            ) as stream,
        ):
            next(iter(stream.frames()))

    assert connected == {"127.0.0.1"}


def test_a_loopback_camera_is_refused_where_none_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = _record_connections(monkeypatch)
    with HttpCamera() as camera:
        assert _fault(camera.url("/mjpeg"), StreamUrlRules()) is CaptureErrorCode.FORBIDDEN
    assert _fault("rtsp://localhost/x", StreamUrlRules()) is CaptureErrorCode.FORBIDDEN

    assert connected == set()


def test_a_redirect_to_another_host_does_not_get_the_password() -> None:
    with HttpCamera() as camera, HttpCamera() as other:
        url = camera.url(f"/to?{other.url('/basic')}", user=LOGIN)

        assert _fault(url) is CaptureErrorCode.CREDENTIALS


def _record_connections(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    connected: set[str] = set()
    connect = socket.create_connection

    def recorded(address: tuple[str, int], *rest: Any, **options: Any) -> socket.socket:
        connected.add(address[0])
        return connect(address, *rest, **options)

    monkeypatch.setattr(socket, "create_connection", recorded)
    return connected
