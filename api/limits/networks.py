"""The networks for which requests are counted and scheduled. No I/O.

A client can control an entire IPv6 network: usually a /64 or /56, at most a /48. Limits therefore
also count the wider networks of an IPv6 address, which clients can share, with larger allowances.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

_WIDER: Final = ((56, 4), (48, 16))
"""Prefix lengths, each with an allowance as a multiple of the allowance of a /64."""
_TURN_BITS_IPV4: Final = 24
_TURN_BITS_IPV6: Final = 48


@dataclass(frozen=True)
class CountedNetwork:
    """A network whose requests are counted, and its allowance as a multiple of the limit."""

    name: str
    factor: int


def counted_networks(address: str) -> Sequence[CountedNetwork]:
    """Return the networks of a counted address (``counted_by``), narrowest first."""
    narrowest = CountedNetwork(address, 1)
    network = _network(address)
    if not isinstance(network, IPv6Network):
        return (narrowest,)
    wider = (
        CountedNetwork(str(network.supernet(new_prefix=bits)), factor) for bits, factor in _WIDER
    )
    return (narrowest, *wider)


@lru_cache(10_000)
def queue_network(address: str) -> str:
    """Return the network by which callers without a credential are scheduled: IPv4 /24, IPv6 /48.

    This only affects the order. Clients in the same network take turns as if they were one.
    """
    network = _network(address)
    if network is None:
        return address
    bits = _TURN_BITS_IPV6 if isinstance(network, IPv6Network) else _TURN_BITS_IPV4
    return str(network.supernet(new_prefix=bits))


def _network(address: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(address, strict=False)
    except ValueError:
        return None
