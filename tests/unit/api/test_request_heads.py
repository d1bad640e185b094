"""What comes before a request's body is bounded: nobody has shown a key by then."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from api.http_protocol import HEAD_SECONDS, MAX_HEAD_BYTES, ApiHttpProtocol

_LINE = b"GET / HTTP/1.1\r\nHost: a\r\n"


class _Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        """Nothing is read here."""

    def resume_reading(self) -> None:
        """Nothing is read here."""


class _Timers:
    """The running loop, whose time passes when a test says so."""

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
        """Do what waits for so long and was not called off."""
        due, self._due = self._due, []
        for after, handle in due:
            if not handle.cancelled() and after == seconds:
                handle._run()


class _Connection:
    """A connection to an application that takes the whole body and answers with its length."""

    def __init__(self) -> None:
        self.transport = _Transport()
        self.timers = _Timers()
        config = uvicorn.Config(_count_body, log_config=None)
        self.protocol = ApiHttpProtocol(config, ServerState(), {}, cast(Any, self.timers))
        self.protocol.connection_made(self.transport)

    def wait_in_vain(self) -> None:
        """Let the time of a head pass."""
        self.timers.pass_over(HEAD_SECONDS)

    async def send(self, *pieces: bytes) -> bytes:
        """Return what is answered."""
        for piece in pieces:
            if not self.transport.closed:
                self.protocol.data_received(piece)
        for _ in range(20):
            await asyncio.sleep(0)
        answered, self.transport.written = self.transport.written, b""
        return answered


async def _count_body(scope: Any, receive: Any, send: Any) -> None:
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    counted = str(size).encode()
    length = (b"content-length", str(len(counted)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": counted})


@pytest.fixture
async def connection() -> AsyncIterator[_Connection]:
    made = _Connection()
    yield made
    made.protocol.connection_lost(None)


def _headers(size: int) -> bytes:
    return b"".join(b"X-%05d: y\r\n" % n for n in range(size // 12))


@pytest.mark.parametrize(
    "endless",
    [_LINE + _headers(10 * MAX_HEAD_BYTES), b"GET /" + b"a" * (10 * MAX_HEAD_BYTES)],
    ids=["headers", "address"],
)
@pytest.mark.parametrize("step", [1_000, 1 << 20])
async def test_an_endless_head_is_refused(
    connection: _Connection, endless: bytes, step: int
) -> None:
    pieces = [endless[at : at + step] for at in range(0, len(endless), step)]
    answer = await connection.send(*pieces)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert str(MAX_HEAD_BYTES).encode() in answer
    assert connection.transport.closed
    assert len(connection.protocol.headers) < 2 * MAX_HEAD_BYTES / 12


async def test_a_long_head_and_a_long_body_pass_again_and_again(connection: _Connection) -> None:
    body = b"b" * (10 * MAX_HEAD_BYTES)
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n" % len(body)
    request = head + _headers(MAX_HEAD_BYTES - 1_000) + b"\r\n" + body
    for step in (3_000, len(request)):
        pieces = [request[at : at + step] for at in range(0, len(request), step)]
        assert (await connection.send(*pieces)).endswith(str(len(body)).encode())
    assert not connection.transport.closed


@pytest.mark.parametrize("before", [b"", _LINE + b"\r\n"], ids=["first", "next"])
async def test_a_slow_head_ends_the_connection(connection: _Connection, before: bytes) -> None:
    if before:
        assert await connection.send(before)
    await connection.send(_LINE)
    assert not connection.transport.closed
    connection.wait_in_vain()

    assert connection.transport.closed
    assert connection.transport.written == b""


async def test_a_slow_answer_does_not(connection: _Connection) -> None:
    await connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
    connection.wait_in_vain()

    assert not connection.transport.closed
    assert (await connection.send(b"12345")).endswith(b"5")


async def test_endless_trailers_are_refused(connection: _Connection) -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n"
    lines = _headers(10 * MAX_HEAD_BYTES)
    pieces = [lines[at : at + 1_000] for at in range(0, len(lines), 1_000)]
    await connection.send(head, *pieces)

    assert connection.transport.closed
    assert len(connection.protocol.headers) == 2


async def test_an_empty_line_does_not_keep_a_connection(connection: _Connection) -> None:
    assert await connection.send(_LINE + b"\r\n")
    await connection.send(b"\r\n")
    connection.wait_in_vain()

    assert connection.transport.closed


async def test_the_rest_of_a_head_may_wait_for_the_answer_before_it(
    connection: _Connection,
) -> None:
    upload = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"
    await connection.send(upload)
    await connection.send(b"12345" + _LINE + b"\r\n" + _LINE)
    connection.protocol.cycle.response_complete = False
    connection.wait_in_vain()
    assert not connection.transport.closed

    connection.protocol.cycle.response_complete = True
    connection.wait_in_vain()
    assert connection.transport.closed
