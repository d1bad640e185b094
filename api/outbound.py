"""Addresses to which clients want things sent: what they resolve to, beyond their spelling."""

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Protocol

import structlog

from api.errors import ApiError, ErrorCode, FieldFault
from contracts.errors import InvalidInputError
from contracts.outbound import (
    IpAddress,
    OutboundRules,
    OutboundUrl,
    check_outbound_address,
    is_loopback_name,
    parse_outbound_url,
)

log = structlog.get_logger()

_RESOLVE_SECONDS = 2.0
_THREADS = 4


class Resolver(Protocol):
    """What turns a host name into addresses."""

    async def addresses(self, host: str, port: int) -> Sequence[IpAddress]:
        """Return all addresses of ``host``; none where it has none or nobody answers in time."""


class SystemResolver:
    """The machine's own resolver, from threads of its own: a slow one holds up nothing else."""

    def __init__(self) -> None:
        """Start no thread yet."""
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="resolver")

    async def addresses(self, host: str, port: int) -> Sequence[IpAddress]:
        """Return all addresses of ``host``; none where it has none or nobody answers in time."""
        try:
            async with asyncio.timeout(_RESOLVE_SECONDS):
                found = await asyncio.get_running_loop().run_in_executor(
                    self._threads, _look_up, host, port
                )
        except (OSError, UnicodeError, TimeoutError) as error:
            log.info("outbound_host_not_resolved", error=type(error).__name__)
            return ()
        return found

    def close(self) -> None:
        """Let running look-ups end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int) -> Sequence[IpAddress]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple({ip_address(str(place[0]).partition("%")[0]) for *_, place in found})


class OutboundGate:
    """Refuses addresses that resolve to networks to which nothing is sent.

    A name that does not resolve now is taken: delivery asks again each time it connects.
    """

    def __init__(self, resolver: Resolver, rules: OutboundRules) -> None:
        """Take the resolver and the operator's rules."""
        self._resolver = resolver
        self._rules = rules

    async def check(self, urls: Sequence[tuple[str, str]]) -> None:
        """Check all of ``urls``, pairs of the field's path and the address.

        Raises:
            ApiError: 400, naming each field at fault.
        """
        found = await asyncio.gather(*(self._fault(path, url) for path, url in urls))
        faults = [fault for fault in found if fault is not None]
        if faults:
            raise ApiError(ErrorCode.INVALID_REQUEST, fields=faults)

    async def _fault(self, path: str, text: str) -> FieldFault | None:
        try:
            await self._check_resolved(parse_outbound_url(text, self._rules))
        except InvalidInputError as error:
            return FieldFault(path, str(error))
        return None

    async def _check_resolved(self, url: OutboundUrl) -> None:
        # A literal address and the machine's own names were judged by their spelling.
        if url.address is not None or is_loopback_name(url.host):
            return
        for address in await self._resolver.addresses(url.host, url.port):
            check_outbound_address(address, self._rules)
