"""IP addresses and networks as settings and rules speak of them."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network


def parse_networks(text: str) -> tuple[IpNetwork, ...]:
    """Return the networks of a comma-separated list of CIDR ranges or single addresses.

    Raises:
        ValueError: an entry is neither.
    """
    return tuple(ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip())
