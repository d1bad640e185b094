"""Limits the number of connections, and the time that a client can leave data unread."""

import asyncio
import resource
import socket
import time
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import structlog

from api.limits.networks import CountedNetwork, counted_networks
from api.security.client_address import client_address, counted_by, is_from
from common.networks import IpNetwork

log = structlog.get_logger()

WRITE_SECONDS = 30.0
"""Time without progress after which a stalled connection is closed."""

WRITE_CHECK_SECONDS = 5.0

LINGER_SECONDS = 2.0
"""Time for a client to read a response that was sent before the end of its request body."""

_CHECKS = int(WRITE_SECONDS / WRITE_CHECK_SECONDS)
_OTHER_DESCRIPTORS = 500
"""File descriptors for everything else: databases, Kafka, inference workers, files."""

_LOG_INTERVAL_SECONDS = 60.0


class ConnectionLimits:
    """Limits the connections of one process, in total and per address. 0 means no limit.

    The wider networks of an IPv6 address can have more connections than a single address, but at
    most half of the total. Trusted proxies serve many clients and have no limit per address.
    """

    def __init__(self, in_all: int, per_address: int, trusted: Sequence[IpNetwork] = ()) -> None:
        self._in_all = in_all
        self._per_address = per_address
        self._trusted = trusted
        self._by_address: Counter[str] = Counter()
        self._log_at = 0.0
        self.open = 0

    def admit(self, peer: str) -> bool:
        """Count a connection from ``peer``. Return False if the connection exceeds a limit."""
        if self._in_all and self.open >= self._in_all:
            self._log_refusal("all", self.open, peer)
            return False
        networks = _counted(peer)
        if any(map(self._is_full, networks)) and not is_from(peer, self._trusted):
            self._log_refusal("address", self._per_address, peer)
            return False
        self._by_address.update(each.name for each in networks)
        self.open += 1
        return True

    def release(self, peer: str) -> None:
        """Stop counting a connection that was admitted."""
        self.open -= 1
        for network in _counted(peer):
            self._by_address[network.name] -= 1
            if not self._by_address[network.name]:
                del self._by_address[network.name]

    def _is_full(self, network: CountedNetwork) -> bool:
        limit = self._per_address * network.factor
        if network.factor > 1 and self._in_all:
            limit = min(limit, max(self._in_all // 2, self._per_address))
        return 0 < limit <= self._by_address[network.name]

    def _log_refusal(self, limit: str, are_open: int, peer: str) -> None:
        """Log a rejected connection, at most once a minute."""
        if time.monotonic() >= self._log_at:
            self._log_at = time.monotonic() + _LOG_INTERVAL_SECONDS
            log.warning("connections_rejected", limit=limit, open=are_open, address=peer)


@lru_cache(10_000)
def _counted(peer: str) -> Sequence[CountedNetwork]:
    return counted_networks(counted_by(client_address(peer, (), ())))


def allow_descriptors(connections: int) -> None:
    """Raise this process's limit of open files for ``connections``, up to the hard limit.

    Shells and systemd start processes with a soft limit of 1,024.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_DESCRIPTORS
    if hard != resource.RLIM_INFINITY and hard < wanted:
        log.warning("file_descriptor_limit_low", allowed=hard, connections=connections)
        wanted = hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def limit_system_buffer(transport: asyncio.BaseTransport) -> None:
    """Have the system discard data that it cannot deliver within :data:`WRITE_SECONDS`.

    The system buffers some megabytes, and retains the data for 15 minutes after the connection is
    closed. **Source:** tcp(7), TCP_USER_TIMEOUT, which also applies to a closed window.
    """
    connection = transport.get_extra_info("socket")
    if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
        limit_ms = round(WRITE_SECONDS * 1000)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit_ms)


class WatchedTransport:
    """A transport that is aborted if its client reads nothing for :data:`WRITE_SECONDS`.

    Each byte that the system accepts is progress, so neither slow clients nor clients that wait for
    data are affected. Connections that are closing while a client leaves the rest of a response
    unread are also aborted, because asyncio would wait for them without a limit.

    While more of a request body is expected, ``close`` only ends the sending side. Incoming data is
    discarded until the client closes, at most for :data:`LINGER_SECONDS`. Closing immediately would
    reset the connection and often lose the response. **Source:** RFC 9112, section 9.6.
    """

    expects_more = False
    """Whether more of a request body is expected."""
    is_lingering = False
    """Whether incoming bytes are discarded."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written = 0
        self._taken = 0
        self._idle_checks = 0
        self._next_check: asyncio.TimerHandle | None = None
        self._lingers_until: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write data, and watch its progress until the system has accepted it."""
        self._written += len(data)
        self._transport.write(data)
        if self._next_check is not None:
            return
        waiting = self._transport.get_write_buffer_size()
        if waiting:
            self._taken, self._idle_checks = self._written - waiting, 0
            self._schedule_check()

    def close(self) -> None:
        """Close, or end only the sending side while more of a request body is expected."""
        if self.is_lingering or self._transport.is_closing():
            return
        if not self.expects_more or not self._transport.can_write_eof():
            self._transport.close()
            return
        self.is_lingering = True
        self._transport.write_eof()
        self._transport.resume_reading()
        self._lingers_until = self._loop.call_later(LINGER_SECONDS, self._transport.close)

    def is_closing(self) -> bool:
        """Return whether nothing more can be written."""
        return self.is_lingering or self._transport.is_closing()

    def end(self) -> None:
        """Cancel the timers."""
        for timer in (self._next_check, self._lingers_until):
            if timer is not None:
                timer.cancel()
        self._next_check = self._lingers_until = None

    def _schedule_check(self) -> None:
        self._next_check = self._loop.call_later(WRITE_CHECK_SECONDS, self._check)

    def _check(self) -> None:
        self._next_check = None
        waiting = self._transport.get_write_buffer_size()
        if not waiting:
            return
        taken, before = self._written - waiting, self._taken
        self._taken = taken
        self._idle_checks = 0 if taken > before else self._idle_checks + 1
        if self._idle_checks < _CHECKS:
            self._schedule_check()
            return
        log.info("connection_stalled", seconds=WRITE_SECONDS, waiting=waiting)
        self._transport.abort()
