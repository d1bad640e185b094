"""Limits on connections: their number, and the time without progress of a response."""

import asyncio
import resource
import socket

import pytest

from api.middleware.connections import (
    LINGER_SECONDS,
    WRITE_CHECK_SECONDS,
    WRITE_SECONDS,
    ConnectionLimits,
    allow_descriptors,
    limit_system_buffer,
)
from api.middleware.http_protocol import http_protocol
from common.networks import parse_networks
from tests.unit.api.middleware.fake_connection import Connection, refuse_body

_REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
_CHECKS = round(WRITE_SECONDS / WRITE_CHECK_SECONDS)


async def _unread() -> Connection:
    """Return a connection with a response that the peer has not read."""
    connection = Connection()
    connection.transport.reading = False
    assert await connection.send(_REQUEST)
    assert connection.transport.held > _CHECKS
    return connection


def _pass_over(connection: Connection, checks: int) -> None:
    for _ in range(checks):
        connection.timers.pass_over(WRITE_CHECK_SECONDS)


async def test_a_reader_that_takes_nothing_is_left_after_thirty_seconds() -> None:
    connection = await _unread()
    _pass_over(connection, _CHECKS - 1)
    assert not connection.transport.aborted
    _pass_over(connection, 1)

    assert connection.transport.aborted
    connection.protocol.connection_lost(None)


async def test_a_connection_closed_after_its_answer_is_dropped_too() -> None:
    connection = await _unread()
    connection.protocol.timeout_keep_alive_handler()
    assert connection.transport.closed
    _pass_over(connection, _CHECKS)

    assert connection.transport.aborted
    connection.protocol.connection_lost(None)


async def test_a_slow_reader_reads_to_the_end() -> None:
    connection = await _unread()
    while connection.transport.held:
        _pass_over(connection, _CHECKS - 1)
        connection.transport.held -= 1
    _pass_over(connection, 2 * _CHECKS)

    assert not connection.transport.aborted
    connection.protocol.connection_lost(None)


async def test_a_reader_that_takes_as_much_as_is_written_is_not_left() -> None:
    """In an event stream, new events arrive all the time, and the backlog stays the same."""
    connection = await _unread()
    for _ in range(5 * _CHECKS):
        connection.protocol.transport.write(b"event")
        connection.transport.held -= len(b"event")
        _pass_over(connection, 1)

    assert not connection.transport.aborted
    connection.protocol.connection_lost(None)


async def test_an_unread_stream_is_dropped_however_much_is_written() -> None:
    connection = await _unread()
    for _ in range(_CHECKS):
        connection.protocol.transport.write(b"event")
        _pass_over(connection, 1)

    assert connection.transport.aborted
    connection.protocol.connection_lost(None)


async def test_an_upload_and_an_answer_that_is_taken_at_once_are_not_watched() -> None:
    connection = Connection()
    await connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n1")
    _pass_over(connection, 2 * _CHECKS)
    assert (await connection.send(b"2345")).endswith(b"5")
    _pass_over(connection, 2 * _CHECKS)

    assert not connection.transport.aborted
    connection.protocol.connection_lost(None)


async def test_nothing_is_checked_of_a_connection_that_is_gone() -> None:
    connection = await _unread()
    connection.protocol.connection_lost(None)
    _pass_over(connection, _CHECKS)

    assert not connection.transport.aborted


async def test_the_system_gives_up_what_it_cannot_deliver_after_the_same_time() -> None:
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as local:
        for one in (tcp, local):
            limit_system_buffer(asyncio.BaseTransport({"socket": one}))

        given = tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        assert given == WRITE_SECONDS * 1000


async def test_the_rest_of_a_rejected_body_is_discarded_for_a_while() -> None:
    connection = Connection(application=refuse_body)
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n"
    assert (await connection.send(head, b"a" * 9)).startswith(b"HTTP/1.1 413 ")
    assert connection.transport.ended
    assert not connection.transport.closed

    # Neither the rest of the body nor the following request is read.
    assert await connection.send(b"a" * 90, _REQUEST, b"\0" * 1_000_000) == b""
    assert not connection.transport.closed
    connection.timers.pass_over(LINGER_SECONDS)
    assert connection.transport.closed
    connection.protocol.connection_lost(None)


async def test_a_connection_whose_caller_closes_meanwhile_is_forgotten() -> None:
    connection = Connection(application=refuse_body)
    await connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n")
    connection.protocol.connection_lost(None)
    connection.timers.pass_over(LINGER_SECONDS)
    assert not connection.transport.closed


async def test_a_connection_is_closed_immediately_after_a_complete_body() -> None:
    connection = Connection(application=refuse_body)
    await connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab")
    assert connection.transport.closed
    assert not connection.transport.ended
    connection.protocol.connection_lost(None)


async def test_one_connection_too_many_is_answered_with_503_and_closed() -> None:
    protocol = http_protocol(ConnectionLimits(2, 0))
    first, second, third = (Connection(protocol, f"192.0.2.{n}") for n in range(3))
    answer = await third.send(_REQUEST)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: 1\r\n" in answer
    assert b'"code":"service_busy"' in answer
    assert third.transport.closed
    third.protocol.connection_lost(None)

    refused = Connection(protocol, "192.0.2.4")
    assert refused.transport.closed
    first.protocol.connection_lost(None)
    assert (await Connection(protocol).send(_REQUEST)).startswith(b"HTTP/1.1 200 ")
    assert (await second.send(_REQUEST)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("peers", "admit"),
    [
        (["192.0.2.1"] * 4, 2),
        (["192.0.2.1", "192.0.2.2"] * 3, 4),
        ([f"2001:db8::{n}" for n in range(1, 5)], 2),
        ([f"2001:db8:0:{n}::1" for n in range(1, 5)], 4),
        (["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"], 2),
        (["10.1.2.3"] * 9, 9),
        (["10.1.2.3"] * 12, 10),
    ],
    ids=["one", "two", "one /64", "four /64", "mapped", "proxy", "all"],
)
def test_connections_are_counted_by_address(peers: list[str], admit: int) -> None:
    limits = ConnectionLimits(10, 2, parse_networks("10.0.0.0/8"))
    entered = [peer for peer in peers if limits.admit(peer)]
    assert len(entered) == limits.open == admit

    for peer in entered:
        limits.release(peer)
    assert limits.open == 0
    assert limits.admit(peers[0])


def test_zero_is_no_limit() -> None:
    limits = ConnectionLimits(0, 0)
    assert all(limits.admit("192.0.2.1") for _ in range(10_000))


@pytest.mark.parametrize(
    ("soft", "hard", "allowed"),
    [
        (1024, 1 << 20, 2500),
        (4096, 1 << 20, None),
        (1024, 2048, 2048),
        (1024, resource.RLIM_INFINITY, 2500),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None),
    ],
)
def test_open_files_are_allowed_for_all_connections(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, allowed: int | None
) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: given.append(limits))
    allow_descriptors(2000)

    assert given == ([] if allowed is None else [(allowed, hard)])
