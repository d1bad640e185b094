"""Host names as addresses: the machine's own resolver, for what connects and what only checks."""

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
        OSError: it has none, or nobody answers.
        UnicodeError: it is no host name.
    """
    found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    return [ResolvedHost(str(place[0]), kind, protocol) for kind, _, protocol, _, place in found]


class SystemResolver:
    """Asks in threads of its own: a name that nobody answers for delays no other."""

    def __init__(self, *, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="resolver")

    async def look_up(
        self, host: str, port: int, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolvedHost]:
        """Return all addresses of ``host``.

        Raises:
            OSError: it has none, or nobody answers.
            UnicodeError: it is no host name.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, look_up, host, port, family)

    def close(self) -> None:
        """Let running look-ups end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)
