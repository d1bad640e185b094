"""Validates, masks and identifies stream URLs of cameras.

The API applies these rules when a camera is created or updated. Ingest applies them again when it
connects, to every address of a host name. No I/O: names are not resolved here, and files are not
opened (see common.urls.files).
"""

import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from common.errors import InvalidInputError
from common.networks import IpAddress, IpNetwork, contains, parse_networks
from common.urls.outbound import FORBIDDEN_CHARACTERS, METADATA_NAMES

MAX_STREAM_URL_LENGTH: Final = 2048

MASK: Final = "***"
"""The text that is shown instead of a secret."""


class StreamScheme(StrEnum):
    """The supported protocols of cameras."""

    RTSP = "rtsp"
    RTSPS = "rtsps"
    HTTP = "http"
    HTTPS = "https"
    FILE = "file"


DEFAULT_PORTS: Final = {
    StreamScheme.RTSP: 554,
    StreamScheme.RTSPS: 322,
    StreamScheme.HTTP: 80,
    StreamScheme.HTTPS: 443,
}


@dataclass(frozen=True, kw_only=True)
class StreamUrlRules:
    """The schemes and networks allowed for this installation's cameras.

    ``denied_networks`` are comma-separated CIDR ranges in which cameras are not allowed, as text
    because the rules are sent to the capture processes.
    """

    allow_loopback: bool = False
    denied_networks: str = ""
    files_folder: Path | None = None
    """Folder of the video files that cameras can play; None: files are not allowed."""


@dataclass(frozen=True, kw_only=True)
class StreamUrl:
    """A stream URL that passed the rules.

    ``text`` is the URL as given, with the password. ``host`` is lower case, without brackets, and
    empty for a file. ``path`` is the path of a file, and empty otherwise.
    """

    text: str
    scheme: StreamScheme
    host: str = ""
    port: int = 0
    path: str = ""

    def __repr__(self) -> str:
        """Return a text with the URL, but without the password."""
        return f"StreamUrl({mask_password(self.text)!r})"


# Metadata services outside the link-local ranges.
# Source: the vendors' manuals (Alibaba ECS, Oracle OCI, Azure, AWS IMDS over IPv6).
_METADATA_ADDRESSES: Final = frozenset(
    ip_address(text)
    for text in ("100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254")
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_THIS_HOST: Final = ip_network("0.0.0.0/8")

_CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x1f\x7f]")
_NUMERIC_HOST: Final = re.compile(r"^(0x[0-9a-f]*|\d+)(\.(0x[0-9a-f]*|\d+)){0,3}$")
_HOST_NAME: Final = re.compile(r"^[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?$")

# Matches passwords outside the user part: ?password=x, and user=admin_password=x_channel=1, as in
# the paths of some recorders. When in doubt, the text is masked.
_SECRET_PARAMETER: Final = re.compile(
    r"(?P<name>pas[a-z]*|pw[a-z]*|psw|token|secret|auth|(?:[a-z]{1,20}_?)?key|"
    r"sig(?:nature)?|credentials?)="
    r"(?P<value>[^&;?#\s]*?)(?=_[a-z]+=[^=&;?#\s]|[&;?#\s]|$)",
    re.IGNORECASE,
)
_USER_INFO: Final = re.compile(
    r"(?P<head>[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s:]*:)(?P<password>[^/?#\s]*)@"
)


def names_playlist(url: str) -> bool:
    """Return whether an HTTP URL ends like the URL of a playlist."""
    return urlsplit(url).path.lower().endswith(".m3u8")


def parse_stream_url(text: str, rules: StreamUrlRules) -> StreamUrl:
    """Return the parts of a camera's stream URL.

    Raises:
        InvalidInputError: the URL is rejected, with code ``stream_url_malformed``,
            ``stream_url_scheme`` (the protocol is not allowed) or ``stream_url_address`` (the host
            is not allowed for cameras). The message never repeats the URL.
    """
    parts = _split(text)
    scheme = _scheme(parts.scheme, rules)
    if scheme is StreamScheme.FILE:
        return _file_url(text, parts)
    host, port = _host_and_port(parts)
    check_host(host, rules)
    return StreamUrl(text=text, scheme=scheme, host=host, port=port or DEFAULT_PORTS[scheme])


def check_host(host: str, rules: StreamUrlRules) -> None:
    """Reject a host name or literal address that is not allowed for cameras.

    Raises:
        InvalidInputError: code ``stream_url_address`` (the host is not allowed), or
            ``stream_url_malformed``.
    """
    address = literal_address(host)
    if address is not None:
        check_address(address, rules)
        return
    name = host.removesuffix(".")
    if not _HOST_NAME.match(name):
        raise _malformed("The stream URL has an invalid host name.")
    is_loopback = name == "localhost" or name.endswith(".localhost")
    if name in METADATA_NAMES or (is_loopback and not rules.allow_loopback):
        raise _forbidden()


def check_address(address: IpAddress, rules: StreamUrlRules) -> None:
    """Reject IP addresses not allowed for cameras: metadata, link-local, multicast, reserved.

    Loopback addresses are rejected unless ``rules`` allow them, and so are networks that ``rules``
    deny. Private networks are allowed, because most cameras are there.

    Raises:
        InvalidInputError: the address is not allowed (code ``stream_url_address``).
    """
    written, address = address, _embedded_ipv4(address)
    denied = _denied_networks(rules.denied_networks)
    if contains(denied, written) or contains(denied, address):
        raise _forbidden()
    # Connecting to 0.0.0.0 or :: reaches the machine itself.
    if address.is_loopback or address.is_unspecified or address in _THIS_HOST:
        if not rules.allow_loopback:
            raise _forbidden()
        return
    refused = (
        address in _METADATA_ADDRESSES
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or (isinstance(address, IPv6Address) and address.is_site_local)
    )
    if refused:
        raise _forbidden()


def literal_address(host: str) -> IpAddress | None:
    """Return the IP address in ``host`` (127.1 and 0x7f000001 are allowed), or None for a name."""
    host = host.removesuffix(".")
    with suppress(ValueError):
        return ip_address(host.partition("%")[0])
    if not _NUMERIC_HOST.match(host):
        return None
    with suppress(OSError):
        return IPv4Address(socket.inet_aton(host))
    return None


def mask_password(text: str) -> str:
    """Return any text, usually a stream URL, with every password in it replaced by ``MASK``."""
    masked = _USER_INFO.sub(rf"\g<head>{MASK}@", text)
    return _SECRET_PARAMETER.sub(rf"\g<name>={MASK}", masked)


def restore_password(text: str, stored: str) -> str:
    """Return ``text`` with each ``MASK`` in it replaced by the password from the ``stored`` URL.

    A client can therefore send back a masked URL from a response. The password is never sent to
    another server: scheme, host, port and user must be unchanged, and each mask must be at its
    original position, in the user part or in the only parameter with that name. The path and other
    parameters can change.

    Raises:
        InvalidInputError: ``stored`` has no password at the position of a mask, or the password
            would be sent to another server (code ``stream_url_mask``).
    """
    if MASK not in text:
        return text
    user, parameters = _USER_INFO.match(text), list(_SECRET_PARAMETER.finditer(text))
    masked = [match for match in (user, *parameters) if match and match[2] == MASK]
    if _endpoint(text) != _endpoint(stored) or len(masked) != text.count(MASK):
        raise _misplaced_mask()
    for match in reversed(masked):
        password = _password_at(match, stored)
        text = f"{text[: match.start(2)]}{password}{text[match.end(2) :]}"
    return text


def stream_identifier(url: StreamUrl) -> str:
    """Return the identity of a stream: the URL without user, password and default port.

    Path and query are included, because recorders name their channels there.
    """
    if url.scheme is StreamScheme.FILE:
        return f"file://{url.path}"
    parts = urlsplit(url.text)
    host = url.host.removesuffix(".")
    address = literal_address(host)
    if address is not None:
        host = f"[{address}]" if isinstance(address, IPv6Address) else str(address)
    port = "" if url.port == DEFAULT_PORTS[url.scheme] else f":{url.port}"
    path = parts.path.rstrip("/")
    query = f"?{parts.query}" if parts.query else ""
    return f"{url.scheme}://{host}{port}{mask_password(path + query)}"


def _split(text: str) -> SplitResult:
    if not text or len(text) > MAX_STREAM_URL_LENGTH:
        raise _malformed(f"The stream URL must have 1 to {MAX_STREAM_URL_LENGTH} characters.")
    if FORBIDDEN_CHARACTERS.search(text):
        raise _malformed("The stream URL contains a space, a backslash or a control character.")
    try:
        return urlsplit(text)
    except ValueError as error:
        raise _malformed("The stream URL is invalid; percent-encode special characters.") from error


def _scheme(name: str, rules: StreamUrlRules) -> StreamScheme:
    scheme = next((each for each in StreamScheme if each == name), None)
    if scheme is None or (scheme is StreamScheme.FILE and rules.files_folder is None):
        names = ", ".join(
            s for s in StreamScheme if s is not StreamScheme.FILE or rules.files_folder is not None
        )
        raise InvalidInputError(
            f"The stream URL must begin with one of: {names}.", code="stream_url_scheme"
        )
    return scheme


def _file_url(text: str, parts: SplitResult) -> StreamUrl:
    # file://localhost/x is the same as file:///x (RFC 8089).
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise _malformed("A file URL must have an absolute path: file:///folder/clip.mp4.")
    if parts.query or parts.fragment:
        raise _malformed("A file name must not contain ? or #.")
    path = unquote(parts.path)
    if _CONTROL_CHARACTERS.search(path):
        raise _malformed("A file name must not contain control characters.")
    return StreamUrl(text=text, scheme=StreamScheme.FILE, path=path)


def _host_and_port(parts: SplitResult) -> tuple[str, int | None]:
    try:
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _unencoded() from error
    if not host or port == 0:
        raise _malformed("The stream URL must have a host. Its port, if given, must not be 0.")
    if parts.fragment:
        raise _unencoded()
    return host.lower(), port


@lru_cache(maxsize=8)
def _denied_networks(text: str) -> tuple[IpNetwork, ...]:
    return parse_networks(text)


def _embedded_ipv4(address: IpAddress) -> IpAddress:
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or (int(address) >> 32 == 0 and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _endpoint(text: str) -> tuple[str, str, int | None, str | None]:
    """Return the scheme, host, port and user of a URL."""
    parts = _split(text)
    host, port = _host_and_port(parts)
    default = next((port for scheme, port in DEFAULT_PORTS.items() if scheme == parts.scheme), None)
    return parts.scheme, host.removesuffix("."), port or default, parts.username


def _password_at(masked: re.Match[str], stored: str) -> str:
    """Return the password in ``stored`` at the position of the mask in ``masked``."""
    if masked.re is _USER_INFO:
        user = _USER_INFO.match(stored)
        found = [user[2]] if user else []
    else:
        name = masked["name"].lower()
        others = _SECRET_PARAMETER.finditer(masked.string)
        if sum(match["name"].lower() == name for match in others) > 1:
            raise _misplaced_mask()
        parameters = _SECRET_PARAMETER.finditer(stored)
        found = [match[2] for match in parameters if match["name"].lower() == name]
    if len(found) != 1:
        raise _misplaced_mask()
    return found[0]


def _misplaced_mask() -> InvalidInputError:
    return InvalidInputError(
        "*** can replace the stored password only if the scheme, host, port and user are "
        "unchanged. Send the password instead.",
        code="stream_url_mask",
    )


def _malformed(message: str) -> InvalidInputError:
    return InvalidInputError(message, code="stream_url_malformed")


def _unencoded() -> InvalidInputError:
    return _malformed(
        "The stream URL has an invalid port or a #. In a password, write %23 for # and %2F for /."
    )


def _forbidden() -> InvalidInputError:
    return InvalidInputError(
        "The stream URL points to a network in which cameras are not allowed.",
        code="stream_url_address",
    )
