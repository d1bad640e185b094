"""The addresses of a host name are checked when a connection is opened."""

import socket
from typing import Any

import pytest

from common.urls.streams import StreamUrlRules
from ingest.capture.http_source import resolve
from ingest.errors import CaptureError, CaptureErrorCode

STRICT = StreamUrlRules()
LOCAL = StreamUrlRules(allow_loopback=True)


def _resolves_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def answer(host: str, port: int, **_: Any) -> list[Any]:
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


def test_a_name_gives_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    _resolves_to(monkeypatch, "10.0.0.7", "10.0.0.8")

    assert resolve("cam.lan", 554, STRICT) == "10.0.0.7"


DENIED = StreamUrlRules(denied_networks="10.20.0.0/16")


@pytest.mark.parametrize(
    ("addresses", "rules"),
    [
        (("127.0.0.1",), STRICT),
        (("169.254.169.254",), STRICT),
        (("10.0.0.7", "::1"), STRICT),
        (("fe80::1%eth0",), STRICT),
        (("0.0.0.0",), STRICT),
        (("10.20.0.7",), DENIED),
        (("192.168.1.2", "10.20.0.7"), DENIED),
        (("::ffff:10.20.0.7",), DENIED),
    ],
)
def test_a_name_that_leads_where_no_camera_may_be_is_refused(
    monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, ...], rules: StreamUrlRules
) -> None:
    _resolves_to(monkeypatch, *addresses)

    with pytest.raises(CaptureError) as caught:
        resolve("rebound.example.org", 554, rules)

    assert caught.value.code is CaptureErrorCode.FORBIDDEN


def test_an_unknown_name_is_a_camera_that_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _resolves_to(monkeypatch)

    with pytest.raises(CaptureError) as caught:
        resolve("nowhere.invalid", 554, STRICT)

    assert caught.value.code is CaptureErrorCode.UNREACHABLE


@pytest.mark.parametrize(
    ("host", "address"), [("127.1", "127.0.0.1"), ("::1", "::1"), ("0x7f000001", "127.0.0.1")]
)
def test_literal_addresses_are_not_looked_up(
    monkeypatch: pytest.MonkeyPatch, host: str, address: str
) -> None:
    _resolves_to(monkeypatch)

    assert resolve(host, 554, LOCAL) == address
    with pytest.raises(CaptureError):
        resolve(host, 554, STRICT)
