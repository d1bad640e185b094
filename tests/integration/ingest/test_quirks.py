"""Cameras with quirks connect, or the reason why not is reported."""

import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from common.urls.streams import StreamUrlRules
from ingest.capture.authentication import Login
from ingest.capture.rtsp_relay import RtspRelay
from ingest.errors import CaptureErrorCode
from ingest.probe import ProbeReport, probe_stream
from tests.integration.ingest.clips import WIDTH_PX, write_clip
from tests.services.rtsp import RtspCamera
from tests.services.rtsp_quirks import Quirk, QuirkyCamera

pytestmark = pytest.mark.integration

RULES = StreamUrlRules(allow_loopback=True)
Code = CaptureErrorCode
NO_TCP = {"TCP": "461 Unsupported Transport"}
SPECIAL = 'a@b:c/d?e#f%g "h\\é'


CONNECTS: Mapping[str, Quirk] = {
    "no quirk": Quirk(),
    "Basic": Quirk(challenges=("Basic",)),
    "Digest without algorithm and quality": Quirk(challenges=("",)),
    "MD5": Quirk(challenges=('MD5 qop="auth"',)),
    "MD5-sess": Quirk(challenges=('MD5-sess qop="auth"',)),
    "SHA-256": Quirk(challenges=('SHA-256 qop="auth"',)),
    "SHA-256 without quality": Quirk(challenges=("SHA-256",)),
    "SHA-256-sess with several qualities": Quirk(challenges=('SHA-256-sess qop="auth-int,auth"',)),
    "SHA-512-256": Quirk(challenges=('SHA-512-256 qop="auth"',)),
    "MD5, then SHA-256": Quirk(challenges=('MD5 qop="auth"', 'SHA-256 qop="auth"')),
    "SHA-256, then MD5": Quirk(challenges=('SHA-256 qop="auth"', 'MD5 qop="auth"')),
    "SHA-256, then Basic": Quirk(challenges=('SHA-256 qop="auth" opaque="0"', "Basic")),
    "an unknown algorithm and MD5": Quirk(challenges=('SHA-1 qop="auth"', 'MD5 qop="auth"')),
    "a nonce for each request": Quirk(challenges=('SHA-256 qop="auth"',), has_new_nonces=True),
    "special characters, Basic": Quirk(challenges=("Basic",), password=SPECIAL),
    "special characters, SHA-256": Quirk(challenges=("SHA-256",), password=SPECIAL),
    "an empty password": Quirk(challenges=('MD5 qop="auth"',), password=""),
    "UDP only": Quirk(statuses=NO_TCP),
    "UDP only, SHA-256": Quirk(challenges=("SHA-256",), statuses=NO_TCP),
    "H.265": Quirk(path="/hevc"),
    "Motion JPEG": Quirk(path="/pictures"),
    "B-frames": Quirk(path="/reordered"),
    "rare key frames": Quirk(path="/rare"),
    "blank lines after responses": Quirk(alter=lambda answer: answer + b"\r\n\r\n"),
    "lower-case field names": Quirk(
        alter=lambda answer: answer.replace(b"CSeq", b"cseq").replace(b"Session:", b"session:")
    ),
    "no name of the status": Quirk(alter=lambda answer: answer.replace(b" 200 OK", b" 200")),
    "another source in the response": Quirk(
        statuses=NO_TCP,
        alter=lambda answer: answer.replace(b";server", b";source=127.0.0.9;server").replace(
            b";mode=", b",RTP/AVP;source=127.0.0.9;mode="
        ),
    ),
}
FAILS: Mapping[str, tuple[Quirk, CaptureErrorCode]] = {
    "wrong password, Basic": (Quirk(challenges=("Basic",), given="wrong"), Code.CREDENTIALS),
    "wrong password, SHA-256": (Quirk(challenges=("SHA-256",), given="wrong"), Code.CREDENTIALS),
    "no password": (Quirk(challenges=('MD5 qop="auth"',), given=None), Code.CREDENTIALS),
    "an unknown algorithm": (Quirk(challenges=('SHA-1 qop="auth"',)), Code.CREDENTIALS),
    "forbidden": (Quirk(statuses={"DESCRIBE": "403 Forbidden"}), Code.CREDENTIALS),
    "no such path": (Quirk(path="/missing"), Code.NO_STREAM),
    "neither TCP nor UDP": (Quirk(statuses={"SETUP": "461 Unsupported Transport"}), Code.TRANSPORT),
    "too little bandwidth": (Quirk(statuses={"SETUP": "453 Not Enough Bandwidth"}), Code.BUSY),
    "too many viewers": (Quirk(statuses={"DESCRIBE": "503 Service Unavailable"}), Code.BUSY),
    "full at PLAY": (Quirk(statuses={"PLAY": "453 Not Enough Bandwidth"}), Code.BUSY),
    "UDP only, but no packets": (
        Quirk(statuses={**NO_TCP, "PLAY": "200 OK"}),
        Code.TRANSPORT,
    ),
    "silent before PLAY": (
        Quirk(alter=lambda got: b"" if b"Transport" in got else got),
        Code.SILENT,
    ),
    "silent after PLAY": (Quirk(after_play="silence"), Code.SILENT),
    "closed after PLAY": (Quirk(after_play="end"), Code.ENDED),
    "no RTSP": (Quirk(alter=lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n"), Code.NOT_VIDEO),
}
KEY_FRAME_SECONDS = {"rare key frames": None, "Motion JPEG": 0.0}


@pytest.fixture(scope="module")
def results(
    moving_clip: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, ProbeReport]]:
    """Results of a camera test by quirk."""
    folder = tmp_path_factory.mktemp("quirks")
    clips = (
        moving_clip,
        write_clip(
            folder / "hevc.h265",
            seconds=2,
            moving=True,
            codec="libx265",
            **{"x265-params": "log-level=none"},
        ),
        write_clip(folder / "pictures.jpeg", seconds=2, moving=True, codec="mjpeg"),
        write_clip(folder / "reordered.mp4", seconds=2, moving=True, preset="veryfast", bf="3"),
        write_clip(folder / "rare.mp4", seconds=15, moving=True, g="1000", sc_threshold="0"),
    )
    quirks = {**CONNECTS, **{name: quirk for name, (quirk, _) in FAILS.items()}}
    with RtspCamera(*clips) as camera, ThreadPoolExecutor(12) as pool:
        yield dict(
            zip(
                quirks,
                pool.map(lambda quirk: _result(camera.port, quirk), quirks.values()),
                strict=True,
            )
        )


def _result(port: int, quirk: Quirk) -> ProbeReport:
    with QuirkyCamera(port, quirk) as camera:
        return probe_stream(camera.url, RULES)[0]


@pytest.mark.parametrize("name", CONNECTS)
def test_a_camera_with_a_quirk_connects(results: Mapping[str, ProbeReport], name: str) -> None:
    result = results[name]

    assert (result.code, result.frame_width) == (None, WIDTH_PX)
    # If its first key frame is not used, a camera with rare key frames shows nothing for 15 s.
    assert result.key_frame_seconds == KEY_FRAME_SECONDS.get(name, pytest.approx(1.0, abs=0.2))


@pytest.mark.parametrize("name", FAILS)
def test_the_reason_is_reported(results: Mapping[str, ProbeReport], name: str) -> None:
    assert results[name].code == FAILS[name][1].name.lower()


def test_the_password_is_proved_again_after_its_challenge_expired() -> None:
    packet, answer = b"$\0\0\1x", b"RTSP/1.0 200 OK\r\n\r\n"
    refusal = b"RTSP/1.0 401 No\r\nWWW-Authenticate: Digest nonce=%d\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs = socket.create_connection(server.getsockname())
        camera, _ = server.accept()
    relay = RtspRelay(theirs, "camera:554", Login("user", "password"))
    request = f"OPTIONS rtsp://127.0.0.1:{relay.port}/x RTSP/1.0\r\n\r\n".encode()
    with camera, socket.create_connection(("127.0.0.1", relay.port)) as ffmpeg:
        for number, before in enumerate((b"", packet)):
            ffmpeg.sendall(request)
            assert camera.recv(4096).startswith(b"OPTIONS rtsp://camera:554/x RTSP/1.0\r\n")
            camera.sendall(before + refusal % number)
            assert b'nonce="%d"' % number in camera.recv(4096)
            camera.sendall(answer)
            # Once the stream is open, FFmpeg ignores the responses.
            assert ffmpeg.recv(4096).startswith(before or answer)
            relay.opened()
    relay.close()
