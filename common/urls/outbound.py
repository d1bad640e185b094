"""Checks the URLs to which the service sends on behalf of clients: webhooks and notifications.

The API applies these rules when a URL is saved. The webhooks stage applies them again when it
connects, to every IP address of a host name. No I/O: names are not resolved here. Everything
outside the public internet is rejected, unless the settings allow the network.

**Source:** IANA IPv4 and IPv6 special-purpose address registries; RFC 6890; the vendors' manuals
for their metadata services.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from common.errors import InvalidInputError
from common.networks import IpAddress, IpNetwork, is_loopback_name, without_mapping

METADATA_NAMES: Final = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data"}
)
"""Host names of cloud metadata services, which return credentials.

**Source:** the vendors' manuals.
"""

FORBIDDEN_CHARACTERS: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
"""Spaces, control characters and the backslash. Parsers disagree on where a URL with
such a character ends."""

MAX_OUTBOUND_URL_LENGTH: Final = 2048


class OutboundScheme(StrEnum):
    """The supported protocols."""

    HTTP = "http"
    HTTPS = "https"


DEFAULT_PORTS: Final = {OutboundScheme.HTTP: 80, OutboundScheme.HTTPS: 443}


@dataclass(frozen=True)
class OutboundRules:
    """The networks that are allowed in addition to the public internet."""

    allowed_networks: tuple[IpNetwork, ...] = ()

    def allow(self, address: IpAddress) -> bool:
        """Return whether one of the allowed networks contains ``address``."""
        return any(address in network for network in self.allowed_networks)


@dataclass(frozen=True, kw_only=True)
class OutboundUrl:
    """A URL that passed the rules.

    ``text`` is as given. ``host`` is lower case, without brackets and trailing dot. ``address`` is
    set if the host is an IP address and not a name.
    """

    text: str
    scheme: OutboundScheme
    host: str
    port: int
    address: IpAddress | None

    def __repr__(self) -> str:
        """Omit the path, because receivers put secrets there."""
        return f"OutboundUrl({self.scheme}://{self.host}:{self.port}/...)"


_REFUSED_IPV4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers' NAT; Alibaba's metadata
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's metadata, in a public network
        "169.254.0.0/16",  # link-local; most clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # multicast tunnels
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_GLOBAL_IPV6: Final = IPv6Network("2000::/3")
_REFUSED_IPV6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address inside
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
_LOOPBACK: Final = (IPv4Address("127.0.0.1"), IPv6Address("::1"))

_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\Z")
_NUMBER: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\Z")
_MAX_HOST_LENGTH: Final = 253
_SHOWN_HOST: Final = re.compile(rf"[0-9A-Za-z._:-]{{1,{_MAX_HOST_LENGTH}}}\Z")
_SEPARATOR: Final = re.compile(r"[/?&=]")
# Names known only to private resolvers. **Source:** RFC 6761, 6762, 8375; ICANN's .internal.
_PRIVATE_SUFFIXES: Final = (
    ".local",
    ".localdomain",
    ".internal",
    ".intranet",
    ".lan",
    ".home.arpa",
    ".corp",
    ".home",
)


def parse_outbound_url(text: str, rules: OutboundRules) -> OutboundUrl:
    """Return the parts of a URL to which the service can send.

    A host name is accepted unless it is known to be private. :func:`check_outbound_address` checks
    the addresses of a name.

    Raises:
        InvalidInputError: the URL is rejected, with code ``outbound_url_malformed``,
            ``outbound_url_scheme`` or ``outbound_url_address``. The message never repeats the URL.
    """
    scheme, host, port = outbound_endpoint(text)
    address = _literal_address(host)
    if address is None:
        _check_name(host, rules)
    else:
        check_outbound_address(address, rules)
    return OutboundUrl(text=text, scheme=scheme, host=host, port=port, address=address)


def outbound_endpoint(text: str) -> tuple[OutboundScheme, str, int]:
    """Return the scheme, host and port of a URL.

    Raises:
        InvalidInputError: the URL is invalid for a reason other than its host.
    """
    parts = _split(text)
    scheme = _scheme(parts.scheme)
    host, port = _host_and_port(parts)
    return scheme, host, port or DEFAULT_PORTS[scheme]


def scheme_and_host(text: str) -> str:
    """Return the part of a URL that is not secret.

    Raises:
        InvalidInputError: :func:`outbound_endpoint` rejects the URL.
    """
    scheme, host, _ = outbound_endpoint(text)
    return f"{scheme}://[{host}]" if ":" in host else f"{scheme}://{host}"


def redirect_target(url: str, location: str) -> str | None:
    """Return the scheme, host and port to which a receiver at ``url`` redirects.

    Return None if the target is invalid, or if the target's host or port contains a part of the
    path or query of ``url``, which may be secret.
    """
    try:
        own, target = urlsplit(url), urlsplit(urljoin(url, location[:MAX_OUTBOUND_URL_LENGTH]))
        port = "" if target.port is None else f":{target.port}"
        origin = scheme_and_host(f"{target.scheme}://{target.netloc.rpartition('@')[2]}")
    except (ValueError, InvalidInputError):
        return None
    host = target.hostname or ""
    new = _letters(port if host == own.hostname else host + port)
    parts = map(_letters, _SEPARATOR.split(unquote(f"{own.path}?{own.query}")))
    is_clean = _SHOWN_HOST.match(host) and not any(part and part in new for part in parts)
    return origin + port if is_clean else None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def check_outbound_address(address: IpAddress, rules: OutboundRules) -> None:
    """Reject an IP address outside the public internet, unless ``rules`` allow its network.

    Call this for every address before connecting, even if the name was checked before, because a
    name can resolve to another address the next time.

    Raises:
        InvalidInputError: the address is not allowed (code ``outbound_url_address``).
    """
    plain = without_mapping(address)
    if not rules.allow(plain) and not _is_public(plain):
        raise _forbidden()


def _split(text: str) -> SplitResult:
    if not text or len(text) > MAX_OUTBOUND_URL_LENGTH:
        raise _malformed(f"must have 1 to {MAX_OUTBOUND_URL_LENGTH} characters")
    if FORBIDDEN_CHARACTERS.search(text):
        raise _malformed("must not contain spaces, backslashes or control characters")
    try:
        return urlsplit(text)
    except ValueError as error:
        raise _malformed("is not a valid URL; percent-encode special characters") from error


def _scheme(name: str) -> OutboundScheme:
    try:
        return OutboundScheme(name)
    except ValueError as error:
        raise InvalidInputError(
            "must begin with http:// or https://", code="outbound_url_scheme"
        ) from error


def _host_and_port(parts: SplitResult) -> tuple[str, int | None]:
    if "@" in parts.netloc:
        raise _malformed("must not contain a user name or password; use headers instead")
    if parts.fragment:
        raise _malformed("must not contain a fragment (#)")
    try:
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _malformed("has an invalid port; it must be a number up to 65535") from error
    if not host or port == 0:
        raise _malformed("must have a host, and a port other than 0")
    return host.lower().removesuffix("."), port


def _literal_address(host: str) -> IpAddress | None:
    """Return the IP address in ``host``, or None for a name.

    The old notations of IPv4 (127.1, 0x7f000001, 017700000001) are rejected, because some resolvers
    treat them as names and others as addresses.
    """
    try:
        address = ip_address(host)
    except ValueError:
        if ":" in host or _NUMBER.match(host.rpartition(".")[2]):
            raise _malformed("has an invalid host; it must be a name or an IP address") from None
        return None
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise _forbidden()
    return address


def _check_name(host: str, rules: OutboundRules) -> None:
    labels = host.split(".")
    if len(host) > _MAX_HOST_LENGTH or not all(_LABEL.match(label) for label in labels):
        raise _malformed("has an invalid host name; use Punycode (xn--) for non-ASCII names")
    if host in METADATA_NAMES:
        raise _forbidden()
    if is_loopback_name(host):
        if not any(rules.allow(address) for address in _LOOPBACK):
            raise _forbidden()
        return
    # If private networks are allowed, the addresses of private names are checked instead.
    is_private = len(labels) == 1 or host.endswith(_PRIVATE_SUFFIXES)
    if is_private and not rules.allowed_networks:
        raise _forbidden()


def _is_public(address: IpAddress) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _REFUSED_IPV4)
    return address in _GLOBAL_IPV6 and not any(address in network for network in _REFUSED_IPV6)


def _malformed(message: str) -> InvalidInputError:
    return InvalidInputError(message, code="outbound_url_malformed")


def _forbidden() -> InvalidInputError:
    return InvalidInputError(
        "is in a private network. The server's administrator must allow this network: "
        "PLATESTREAM_WEBHOOK_ALLOWED_NETWORKS",
        code="outbound_url_address",
    )
