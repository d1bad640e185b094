"""Finds free ports, and the processes that use a port."""

import random
import socket
from collections.abc import Iterable
from itertools import islice

from deploy.local.processes import listener
from deploy.local.servers.base import PortUse

# These ports are below the range of outgoing connections (ip_local_port_range), so that no
# connection takes a port before the server does.
_SERVER_PORTS = range(20_000, 32_000)

# This generator cannot be seeded, so that two concurrent processes choose different ports.
_CHOICE = random.SystemRandom()


def busy_ports(uses: Iterable[PortUse]) -> tuple[str, ...]:
    """Return a message for each port that is in use, with the process and the setting."""
    return tuple(
        f"port {use.port} is in use by {listener(use.port)}. Stop it, or set {use.setting}"
        for use in uses
        if not is_free(use.port)
    )


def is_free(port: int) -> bool:
    """Return whether a server can listen on the port on 127.0.0.1."""
    with socket.socket() as probe:
        # Ignore connections in TIME_WAIT, as servers do.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_range(count: int) -> int:
    """Return the first of ``count`` consecutive free ports."""
    while True:
        first = _CHOICE.choice(_SERVER_PORTS)
        if all(is_free(first + number) for number in range(count)):
            return first


def free_ports(count: int) -> tuple[int, ...]:
    """Return ``count`` different free ports."""
    shuffled = _CHOICE.sample(_SERVER_PORTS, len(_SERVER_PORTS))
    return tuple(islice(filter(is_free, shuffled), count))
