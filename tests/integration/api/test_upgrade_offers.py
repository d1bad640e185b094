"""Requests that offer another protocol, as Java's HttpClient sends them. The offer is ignored."""

import json
import socket
from collections.abc import Iterator

import pytest

from tests.integration.api.conftest import copied_database
from tests.integration.api.threaded import ThreadedApi, serving_in_thread

pytestmark = pytest.mark.integration

H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
WEBSOCKET = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
LENGTH, CHUNKED = b"Content-Length: %d\r\n", b"Transfer-Encoding: chunked\r\n"


@pytest.fixture(scope="module")
def api(postgres_url: str, migrated_template: str) -> Iterator[ThreadedApi]:
    with (
        copied_database(postgres_url, migrated_template) as database,
        serving_in_thread(database, credits=0) as running,
    ):
        yield running


@pytest.fixture
def connection(api: ThreadedApi) -> Iterator[socket.socket]:
    host, port = api.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as opened:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield opened


def _head(api: ThreadedApi, line: bytes, *more: bytes) -> bytes:
    credential = f"Authorization: {api.headers['Authorization']}\r\n".encode()
    return line + b" HTTP/1.1\r\nHost: api.test\r\n" + credential + b"".join(more) + b"\r\n"


def _answer(connection: socket.socket) -> tuple[int, bytes]:
    """Return the status and the body of the next response, which has a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    assert lines[b"x-request-id"]
    while len(body) < int(lines[b"content-length"]):
        body += _some(connection)
    return int(head.split()[1]), body


def _some(connection: socket.socket) -> bytes:
    got = connection.recv(65_536)
    assert got, "the connection was closed"
    return got


@pytest.mark.parametrize("offer", [H2C, WEBSOCKET], ids=["h2c", "websocket"])
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "piece by piece"])
@pytest.mark.parametrize("framing", [LENGTH, CHUNKED], ids=["length", "chunked"])
def test_a_body_is_read_and_the_connection_goes_on(
    api: ThreadedApi, connection: socket.socket, offer: bytes, at_once: bool, framing: bytes
) -> None:
    body = json.dumps({"name": "x" * 200, "nonsense": 1}).encode()
    content = b"Content-Type: application/json\r\n"
    if framing is LENGTH:
        head, sent = _head(api, b"POST /api/alertas", content, LENGTH % len(body), offer), body
    else:
        head = _head(api, b"POST /api/alertas", content, CHUNKED, offer)
        sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    for _ in range(2):
        if at_once:
            connection.sendall(head + sent)
        else:
            for piece in (head[:40], head[40:], sent[:50], sent[50:]):
                connection.sendall(piece)
        status, said = _answer(connection)
        assert (status, b"nonsense" in said) == (400, True), said

    connection.sendall(_head(api, b"GET /api/cameras", offer))
    assert _answer(connection) == (200, b'{"cameras":[]}')
    connection.sendall(_head(api, b"GET /api/cameras"))
    assert _answer(connection)[0] == 200


def test_connect_is_rejected(api: ThreadedApi, connection: socket.socket) -> None:
    connection.sendall(b"CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
    assert _answer(connection)[0] == 400
