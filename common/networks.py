"""Parses and compares IP addresses and networks, for settings and rules."""

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Annotated, Final

from pydantic import BeforeValidator
from pydantic_settings import NoDecode

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_LOOPBACK_NAMES: Final = frozenset(
    {"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"}
)


def parse_networks(text: str) -> tuple[IpNetwork, ...]:
    """Return the networks of a comma-separated list of CIDR ranges or single addresses.

    Raises:
        ValueError: an entry is neither a range nor an address.
    """
    return tuple(ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip())


def is_loopback_name(host: str) -> bool:
    """Return whether a host name (lower case) is a loopback name, without asking a resolver."""
    return host in _LOOPBACK_NAMES or host.endswith((".localhost", ".localhost.localdomain"))


def is_own_machine(host: str) -> bool:
    """Return whether a host (a lower-case name or an IP address) is this machine."""
    try:
        return without_mapping(ip_address(host)).is_loopback
    except ValueError:
        return is_loopback_name(host)


def without_mapping(address: IpAddress) -> IpAddress:
    """Return ``address``, or its IPv4 address if it is IPv4-mapped (``::ffff:a.b.c.d``)."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def contains(networks: Iterable[IpNetwork], address: IpAddress) -> bool:
    """Return whether one of the networks contains the address. An IPv4 network can have the
    IPv6-mapped form, ``::ffff:10.0.0.0/104``.
    """
    return any(address in _without_mapping(network) for network in networks)


def _without_mapping(network: IpNetwork) -> IpNetwork:
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        first = network.network_address.ipv4_mapped
        return IPv4Network((int(first or 0), network.prefixlen - _MAPPED.prefixlen))
    return network


def _networks(value: object) -> object:
    return parse_networks(value) if isinstance(value, str) else value


NetworkList = Annotated[tuple[IpNetwork, ...], NoDecode, BeforeValidator(_networks)]
"""Type of settings: comma-separated CIDR ranges or single addresses."""
