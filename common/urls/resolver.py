"""Resolves host names with the system's resolver, for connections and for checks."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address

from common.networks import IpAddress


@dataclass(frozen=True)
class ResolvedHost:
    """One address of a host; ``text`` may end with an IPv6 scope (``%eth0``)."""

    text: str
    family: socket.AddressFamily
    protocol: int

    @property
    def address(self) -> IpAddress:
        """The address, without a scope."""
        return ip_address(self.text.partition("%")[0])


def look_up(
    host: str, port: int, family: socket.AddressFamily = socket.AF_UNSPEC
) -> list[ResolvedHost]:
    """Return all addresses of ``host``, in the resolver's order. Blocks.

    Raises:
        OSError: the host has no address, or the resolver is not responding.
        UnicodeError: ``host`` is not a host name.
    """
    found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    return [ResolvedHost(str(place[0]), kind, protocol) for kind, _, protocol, _, place in found]


class SystemResolver:
    """Resolves names in separate threads, so that a slow look-up does not delay other look-ups."""

    def __init__(self, *, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="resolver")

    async def look_up(
        self, host: str, port: int, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolvedHost]:
        """Return all addresses of ``host``.

        Raises:
            OSError: the host has no address, or the resolver is not responding.
            UnicodeError: ``host`` is not a host name.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, look_up, host, port, family)

    def close(self) -> None:
        """Cancel queued look-ups. Running look-ups finish in the background."""
        self._threads.shutdown(wait=False, cancel_futures=True)
