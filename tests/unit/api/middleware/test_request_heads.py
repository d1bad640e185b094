"""Everything before a request's body is limited, because the key has not been checked by then."""

from collections.abc import AsyncIterator

import pytest

from api.middleware.http_protocol import HEAD_SECONDS, MAX_HEAD_BYTES
from tests.unit.api.middleware.fake_connection import Connection

_LINE = b"GET / HTTP/1.1\r\nHost: a\r\n"


@pytest.fixture
async def connection() -> AsyncIterator[Connection]:
    made = Connection()
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
    connection: Connection, endless: bytes, step: int
) -> None:
    pieces = [endless[at : at + step] for at in range(0, len(endless), step)]
    answer = await connection.send(*pieces)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert str(MAX_HEAD_BYTES).encode() in answer
    assert connection.transport.closed
    assert len(connection.protocol.headers) < 2 * MAX_HEAD_BYTES / 12


async def test_a_long_head_and_a_long_body_pass_again_and_again(connection: Connection) -> None:
    body = b"b" * (10 * MAX_HEAD_BYTES)
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n" % len(body)
    request = head + _headers(MAX_HEAD_BYTES - 1_000) + b"\r\n" + body
    for step in (3_000, len(request)):
        pieces = [request[at : at + step] for at in range(0, len(request), step)]
        assert (await connection.send(*pieces)).endswith(str(len(body)).encode())
    assert not connection.transport.closed


@pytest.mark.parametrize("before", [b"", _LINE + b"\r\n"], ids=["first", "next"])
async def test_a_slow_head_ends_the_connection(connection: Connection, before: bytes) -> None:
    if before:
        assert await connection.send(before)
    await connection.send(_LINE)
    assert not connection.transport.closed
    connection.timers.pass_over(HEAD_SECONDS)

    assert connection.transport.closed
    assert connection.transport.written == b""


async def test_a_slow_answer_does_not(connection: Connection) -> None:
    await connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
    connection.timers.pass_over(HEAD_SECONDS)

    assert not connection.transport.closed
    assert (await connection.send(b"12345")).endswith(b"5")


async def test_endless_trailers_are_refused(connection: Connection) -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n"
    lines = _headers(10 * MAX_HEAD_BYTES)
    pieces = [lines[at : at + 1_000] for at in range(0, len(lines), 1_000)]
    await connection.send(head, *pieces)

    assert connection.transport.ended
    assert len(connection.protocol.headers) == 2


async def test_an_empty_line_does_not_keep_a_connection(connection: Connection) -> None:
    assert await connection.send(_LINE + b"\r\n")
    await connection.send(b"\r\n")
    connection.timers.pass_over(HEAD_SECONDS)

    assert connection.transport.closed


async def test_the_rest_of_a_head_may_wait_for_the_answer_before_it(
    connection: Connection,
) -> None:
    upload = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"
    await connection.send(upload)
    await connection.send(b"12345" + _LINE + b"\r\n" + _LINE)
    connection.protocol.cycle.response_complete = False
    connection.timers.pass_over(HEAD_SECONDS)
    assert not connection.transport.closed

    connection.protocol.cycle.response_complete = True
    connection.timers.pass_over(HEAD_SECONDS)
    assert connection.transport.closed
