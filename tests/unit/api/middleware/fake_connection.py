"""A connection of the API's protocol without a network. Tests set its clock."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import uvicorn
from uvicorn.server import ServerState

from api.middleware.http_protocol import ApiHttpProtocol


class Transport(asyncio.Transport):
    """Stores the output. ``held`` bytes wait for a peer that is not ``reading``."""

    def __init__(self, peer: str) -> None:
        super().__init__({"peername": (peer, 4711)})
        self.written = b""
        self.held = 0
        self.reading = True
        self.closed = False
        self.ended = False
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        return self.held

    def abort(self) -> None:
        self.aborted = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)
        if not self.reading:
            self.held += len(data)

    def close(self) -> None:
        self.closed = True

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        """Do nothing, because nothing is read here."""

    def resume_reading(self) -> None:
        """Do nothing, because nothing is read here."""


class Timers:
    """The running event loop, with timers that a test controls."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._due: list[tuple[float, asyncio.TimerHandle]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def call_later(self, seconds: float, callback: Any, *args: Any) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(0, callback, args, self._loop)
        self._due.append((seconds, handle))
        return handle

    def pass_over(self, seconds: float) -> None:
        """Run the timers that were set to ``seconds`` and not cancelled."""
        due, self._due = self._due, []
        for after, handle in due:
            if not handle.cancelled() and after == seconds:
                handle._run()


async def count_body(scope: Any, receive: Any, send: Any) -> None:
    """Read the whole body, and respond with its length."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    counted = str(size).encode()
    length = (b"content-length", str(len(counted)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": counted})


async def refuse_body(scope: Any, receive: Any, send: Any) -> None:
    """Respond without reading the body, and accept no further request."""
    headers = [(b"content-length", b"2"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": b"no"})


class Connection:
    def __init__(
        self,
        protocol: type[ApiHttpProtocol] = ApiHttpProtocol,
        peer: str = "192.0.2.1",
        application: Callable[[Any, Any, Any], Awaitable[None]] = count_body,
    ) -> None:
        self.transport = Transport(peer)
        self.timers = Timers()
        config = uvicorn.Config(application, log_config=None)
        self.protocol = protocol(config, ServerState(), {}, cast(Any, self.timers))
        self.protocol.connection_made(self.transport)

    async def send(self, *pieces: bytes) -> bytes:
        for piece in pieces:
            if not self.transport.closed:
                self.protocol.data_received(piece)
        for _ in range(20):
            await asyncio.sleep(0)
        answered, self.transport.written = self.transport.written, b""
        return answered
