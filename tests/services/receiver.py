"""A webhook receiver that is a real HTTP server, and can misbehave.

The path selects the behaviour: ``/status/503``, ``/never``, ``/drip`` (one byte of the head per
second), ``/drip-body``, ``/huge`` (1 GB), ``/redirect`` (to itself), ``/garbage``, ``/hang-up``;
other paths return 200. ``/status/429?retry-after=7`` adds the Retry-After header.
"""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from deploy.local.ports import free_ports
from tests.blocks import RunsForABlock

_GIGABYTE = 1024**3
_CHUNK = b"x" * 65_536


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    at_seconds: float

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


@dataclass
class _State:
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    overrides: dict[str, str] = field(default_factory=dict)
    stopping: threading.Event = field(default_factory=threading.Event)
    written: int = 0
    sockets: set[socket.socket] = field(default_factory=set)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The head and the body are two writes; Nagle's algorithm would delay the second by 40 ms.
    disable_nagle_algorithm = True
    state: _State

    def setup(self) -> None:
        super().setup()
        self.state.connections += 1
        self.state.sockets.add(self.connection)

    def finish(self) -> None:
        self.state.sockets.discard(self.connection)
        # If the server has stopped, the rest of the output has no reader.
        with suppress(OSError):
            super().finish()

    def do_POST(self) -> None:  # noqa: N802 - the library's name
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.state.received.append(Received(self.path, headers, body, time.monotonic()))
        parts = urlsplit(self.state.overrides.get(self.path, self.path))
        name, _, rest = parts.path.strip("/").partition("/")
        behaviours: dict[str, Callable[[], None]] = {
            "never": self._never,
            "drip": self._drip,
            "drip-body": self._drip_body,
            "huge": self._huge,
            "garbage": self._garbage,
            "hang-up": self._hang_up,
        }
        try:
            if name in behaviours:
                behaviours[name]()
            elif name == "redirect":
                self._answer(302, {"Location": self.path})
            else:
                asked = parse_qs(parts.query).get("retry-after")
                status = int(rest) if name == "status" else 200
                self._answer(status, {"Retry-After": asked[0]} if asked else {})
        except OSError:
            self.close_connection = True

    def _answer(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        # Responses with these statuses have no body by definition.
        body = b"" if status in (204, 304) else b"ok"
        if body:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _never(self) -> None:
        self.state.stopping.wait(60)
        self.close_connection = True

    def _drip(self) -> None:
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n":
            self.wfile.write(bytes([byte]))
            if self.state.stopping.wait(1):
                break
        self.close_connection = True

    def _drip_body(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "60")
        self.end_headers()
        for _ in range(60):
            self.wfile.write(b"x")
            if self.state.stopping.wait(1):
                break
        self.close_connection = True

    def _huge(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(_GIGABYTE))
        self.end_headers()
        for _ in range(_GIGABYTE // len(_CHUNK)):
            self.wfile.write(_CHUNK)
            self.state.written += len(_CHUNK)
        self.close_connection = True

    def _garbage(self) -> None:
        self.wfile.write(b"\x16\x03 this is no HTTP\r\n\r\n")
        self.close_connection = True

    def _hang_up(self) -> None:
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Do not log requests."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing, because the tests include clients that disconnect."""


class Receiver(RunsForABlock):
    """A receiver on a free port. Use the receiver as a context manager."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        """Listen, with HTTPS if ``tls`` is given."""
        self._state = _State()
        self._handler = type("Handler", (_Handler,), {"state": self._state})
        self._tls = tls
        self._scheme = "http" if tls is None else "https"
        (self.port,) = free_ports(1)
        """The port on which the receiver listens."""
        self._listen()

    def _listen(self) -> None:
        self._server = _Server(("127.0.0.1", self.port), self._handler)
        if self._tls is not None:
            self._server.socket = self._tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def become_unavailable(self) -> None:
        """Refuse connections and close the existing ones, until :meth:`recover`."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
        for connection in tuple(self._state.sockets):
            # The client may have closed the connection.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def recover(self) -> None:
        """Listen on the same port again."""
        self._listen()
        self._thread.start()

    @property
    def received(self) -> list[Received]:
        """All requests so far, in order."""
        return self._state.received

    @property
    def connections(self) -> int:
        """Number of connections to the receiver so far."""
        return self._state.connections

    @property
    def written_bytes(self) -> int:
        """Number of bytes of a huge response that were sent."""
        return self._state.written

    def url(self, path: str = "/ok", host: str = "127.0.0.1") -> str:
        return f"{self._scheme}://{host}:{self.port}{path}"

    def answer(self, path: str, as_path: str) -> None:
        """From now on, respond to ``path`` as if it were ``as_path``."""
        self._state.overrides[path] = as_path

    def bodies(self, path: str = "/ok") -> list[Any]:
        """Return the decoded bodies of the requests to a path."""
        return [request.json for request in self.received if request.path == path]

    def _begin(self) -> None:
        self._thread.start()

    def _end(self, error: BaseException | None) -> None:
        self._state.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
