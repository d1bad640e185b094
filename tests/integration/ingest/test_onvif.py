"""Cameras are found and asked for their streams, and hostile answers lead nowhere."""

import socket
from ipaddress import IPv4Network
from typing import Any

import pytest

from common.urls.streams import StreamUrlRules
from ingest import onvif
from ingest.errors import CaptureError, CaptureErrorCode
from ingest.onvif import OnvifDevice, OnvifRequest, OnvifStream, find_devices, list_streams
from tests.services.onvif import (
    CALLS,
    MEDIA,
    MEDIA_2,
    PASSWORD,
    USER,
    OnvifCamera,
    envelope,
    loopback_address,
)

pytestmark = pytest.mark.integration

_ELSEWHERE = IPv4Network("0.0.0.0/0").address_exclude(IPv4Network("127.0.0.0/8"))
RULES = StreamUrlRules(allow_loopback=True, denied_networks=",".join(map(str, _ELSEWHERE)))
"""Only loopback addresses. Thus no probe leaves this machine."""
_BOMB = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "%b">]><a>%b</a>' % (b"x" * 999, b"&b;" * 9)
_SWAPPED = '<?xml version="1.0" encoding="UTF-16"?>' + _BOMB.decode()[21:]


@pytest.fixture
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less for answers, in tests without any."""
    monkeypatch.setattr(onvif, "_ROUND_SECONDS", 0.05)


def _streams(camera: OnvifCamera, password: str = PASSWORD) -> tuple[OnvifStream, ...]:
    wanted = OnvifRequest(device_url=camera.url, username=USER, password=password)
    return list_streams(wanted, RULES)


def _fault(camera: OnvifCamera, password: str = PASSWORD) -> CaptureErrorCode:
    with pytest.raises(CaptureError) as caught:
        _streams(camera, password)
    return caught.value.code


def test_a_camera_is_found_by_multicast_and_at_its_address() -> None:
    with OnvifCamera() as camera:
        expected = OnvifDevice(
            address=camera.host, device_url=camera.url, name="Gate north", model="M1"
        )

        assert find_devices(camera.host, RULES) == (expected,)
        assert expected in find_devices("", RULES)


@pytest.mark.usefixtures("short_wait")
def test_a_host_that_does_not_answer_probes_has_the_usual_url() -> None:
    host = f"{loopback_address()}:8080"

    (found,) = find_devices(host, RULES)
    assert found.device_url == f"http://{host}/onvif/device_service"


@pytest.mark.usefixtures("short_wait")
@pytest.mark.parametrize("rules", [StreamUrlRules(), StreamUrlRules(denied_networks="0.0.0.0/0")])
def test_no_probe_is_sent_to_an_address_that_is_not_allowed(rules: StreamUrlRules) -> None:
    with OnvifCamera() as camera, pytest.raises(Exception, match="not allowed"):
        find_devices(camera.host, rules)
    assert find_devices("", StreamUrlRules(denied_networks="0.0.0.0/0")) == ()


@pytest.mark.parametrize("media", [MEDIA, MEDIA_2])
def test_streams_have_their_size_and_no_password(media: str) -> None:
    with OnvifCamera(
        "rtsp://203.0.113.9:8554/main?a=1&b=2",
        "rtsp://admin:secret@203.0.113.9/sub",
        "ftp://203.0.113.9/none",
        media=media,
    ) as camera:
        assert _streams(camera) == (
            OnvifStream(
                name="Stream 1",
                rtsp_url=f"rtsp://{camera.host}:8554/main?a=1&b=2",
                codec="H264",
                frame_width=1920,
                frame_height=1080,
            ),
            OnvifStream(
                name="Stream 2",
                rtsp_url=f"rtsp://{camera.host}/sub",
                codec="H264",
                frame_width=960,
                frame_height=540,
            ),
        )


def test_a_wrong_password_is_reported() -> None:
    with OnvifCamera("rtsp://x/1") as camera:
        assert _fault(camera, "wrong") is CaptureErrorCode.CREDENTIALS


def test_the_password_is_sent_as_a_digest_only() -> None:
    digest = (401, "WWW-Authenticate", 'Digest realm="x", nonce="y", qop="auth"')
    with OnvifCamera("rtsp://x/1", refusal=digest) as camera:
        assert len(_streams(camera)) == 1
        assert camera.logins == {"Digest"}
    with OnvifCamera("rtsp://x/1", refusal=(401, "WWW-Authenticate", 'Basic realm="x"')) as camera:
        assert _fault(camera) is CaptureErrorCode.CREDENTIALS
        assert camera.logins == set()


def test_redirects_are_not_followed() -> None:
    with (
        OnvifCamera("rtsp://x/1") as other,
        OnvifCamera("rtsp://x/2", refusal=(302, "Location", other.url)) as camera,
    ):
        assert _fault(camera) is CaptureErrorCode.NOT_ONVIF


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not XML",
        b"<a>" * 99_000 + b"<Fault/>" + b"</a>" * 99_000,
        _BOMB,
        _SWAPPED.encode("utf-16"),
        envelope("<Fault/>"),
        b'<?xml version="1.0" encoding="nonsense"?><a/>',
    ],
    ids=["empty", "text", "deep", "bomb", "bomb in UTF-16", "fault", "encoding"],
)
def test_hostile_answers_are_no_onvif(call: str, body: bytes) -> None:
    with OnvifCamera("rtsp://x/1", answers={call: body}) as camera:
        assert _fault(camera) is CaptureErrorCode.NOT_ONVIF


def test_a_huge_answer_is_not_read_to_its_end() -> None:
    body = envelope("<a/>") + b" " * onvif.MAX_ANSWER_BYTES
    with OnvifCamera("rtsp://x/1", answers={"GetServices": body}) as camera:
        assert _fault(camera) is CaptureErrorCode.TOO_MUCH


@pytest.mark.usefixtures("short_wait")
@pytest.mark.parametrize("body", [b"", _BOMB, envelope("<ProbeMatch><XAddrs>http://[</XAddrs>")])
def test_a_hostile_datagram_is_ignored(body: bytes) -> None:
    with OnvifCamera(answers={"Probe": body}) as camera:
        (found,) = find_devices(camera.host, RULES)

    assert (found.name, found.device_url) == ("", f"http://{camera.host}/onvif/device_service")


def test_a_camera_cannot_name_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    connected: set[str] = set()
    connect = socket.create_connection

    def recorded(address: tuple[str, int], *rest: Any) -> socket.socket:
        connected.add(address[0])
        return connect(address, *rest)

    monkeypatch.setattr(socket, "create_connection", recorded)
    match = envelope("<ProbeMatch><XAddrs>http://169.254.169.254/x file:///x</XAddrs></ProbeMatch>")
    with OnvifCamera("rtsp://169.254.169.254/main", answers={"Probe": match}) as camera:
        (found,) = find_devices(camera.host, RULES)
        (stream,) = _streams(camera)

    assert found.device_url == f"http://{camera.host}/onvif/device_service"
    assert stream.rtsp_url == f"rtsp://{camera.host}/main"
    assert connected == {camera.host}
