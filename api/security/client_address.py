"""Determines the client address of a request, and the key for limits per client."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address

from common.networks import IpAddress, IpNetwork

_UNKNOWN = "unknown"
_IPV6_PREFIX_BITS = 64
_WITH_PORT = re.compile(r"(?:\[(?P<ipv6>[^\]]+)\]|(?P<ipv4>[0-9.]+))(?::[0-9]{1,5})?\Z")


@dataclass(frozen=True)
class PublicAccess:
    """How clients reach the API: the networks of trusted ``proxies``, and the public ``url``.

    Proxies are trusted to report the client's address and the scheme.
    """

    proxies: tuple[IpNetwork, ...]
    url: str

    @property
    def is_https(self) -> bool:
        """Whether people must use HTTPS."""
        return self.url.lower().startswith("https://")


def client_address(
    peer: str | None, forwarded_for: Sequence[str], trusted: Sequence[IpNetwork]
) -> str:
    """Return the client's address.

    ``forwarded_for`` are the X-Forwarded-For headers as received. The hops are read from the right
    for as long as each hop is a ``trusted`` proxy. Values further left can be forged.
    """
    address = _address(peer or "")
    if address is None:
        return peer or _UNKNOWN
    hops = [hop.strip() for header in forwarded_for for hop in header.split(",")]
    while hops and any(address in network for network in trusted):
        before = _address(_without_port(hops.pop()))
        if before is None:
            break
        address = before
    return str(address)


def is_from(peer: str, networks: Sequence[IpNetwork]) -> bool:
    """Return whether an address is in one of ``networks``."""
    address = _address(peer)
    return address is not None and any(address in network for network in networks)


def counted_by(address: str) -> str:
    """Return the key for limits: an IPv4 address, or the /64 network of an IPv6 address.

    A household has 2**64 IPv6 addresses, so a limit per address would have no effect.
    """
    parsed = _address(address)
    if isinstance(parsed, IPv6Address):
        return str(IPv6Network((int(parsed), _IPV6_PREFIX_BITS), strict=False))
    return address if parsed is None else str(parsed)


def _without_port(hop: str) -> str:
    """Return the address of a hop. Some proxies send 192.0.2.1:4711 or [2001:db8::1]:4711."""
    match = _WITH_PORT.match(hop)
    return hop if match is None else match["ipv6"] or match["ipv4"]


def _address(text: str) -> IpAddress | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
