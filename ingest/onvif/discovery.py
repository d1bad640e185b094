"""Finds ONVIF devices with WS-Discovery.

**Source:** WS-Discovery (April 2005); ONVIF Core Specification, section 7.
"""

import fcntl
import socket
import struct
import time
import uuid
from array import array
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from typing import Final
from urllib.parse import unquote

from common.errors import InvalidInputError
from common.urls.streams import StreamUrlRules, check_address, parse_stream_url
from ingest.capture.http_source import resolve
from ingest.errors import CaptureError
from ingest.onvif.messages import OnvifDevice, envelope, parse_answer, shown, text_of

MULTICAST: Final = "239.255.255.250"
PORT: Final = 3702
MAX_DEVICES: Final = 256
_ROUNDS: Final = 2
"""Number of times that a probe is sent, because UDP loses datagrams."""
_ROUND_SECONDS: Final = 1.5
_MAX_DATAGRAMS: Final = 2_000
_SIOCGIFCONF: Final = 0x8912
_ENTRY_BYTES: Final = 40
_MAX_INTERFACES: Final = 256
_DISCOVERY: Final = "http://schemas.xmlsoap.org/ws/2005/04/discovery"
_ADDRESSING: Final = "http://schemas.xmlsoap.org/ws/2004/08/addressing"


def find_devices(address: str, rules: StreamUrlRules) -> tuple[OnvifDevice, ...]:
    """Return the devices that answer a WS-Discovery probe within three seconds.

    The probe is sent to ``address`` or, if empty, as multicast on each interface whose IPv4 address
    is allowed for cameras. A host that does not answer is returned with the URL that ONVIF
    prescribes.

    Raises:
        CaptureError: ``address`` is forbidden, or the name cannot be resolved.
        InvalidInputError: ``address`` is invalid or forbidden.
    """
    host = ""
    if address:
        url = parse_stream_url(f"http://{address}", rules)
        host = resolve(url.host, url.port, rules)
    found: dict[str, OnvifDevice] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        for _ in range(_ROUNDS if ":" not in host else 0):
            _send_probe(udp, host, rules)
            for data, source in _datagrams(udp):
                if _is_allowed(source, rules) and host in ("", source):
                    found |= {one.device_url: one for one in _devices(data, source, rules)}
                if (host and found) or len(found) >= MAX_DEVICES:
                    return tuple(found.values())[:MAX_DEVICES]
    if address and not found:
        return (OnvifDevice(address=address, device_url=_standard_url(address)),)
    return tuple(found.values())


def _send_probe(udp: socket.socket, host: str, rules: StreamUrlRules) -> None:
    addressing = (
        f'<MessageID xmlns="{_ADDRESSING}">uuid:{uuid.uuid4()}</MessageID>'
        f'<To xmlns="{_ADDRESSING}">urn:schemas-xmlsoap-org:ws:2005:04:discovery</To>'
        f'<Action xmlns="{_ADDRESSING}">{_DISCOVERY}/Probe</Action>'
    )
    probe = envelope(
        addressing,
        f'<Probe xmlns="{_DISCOVERY}"><Types xmlns:n="http://www.onvif.org/ver10/network/wsdl">'
        "n:NetworkVideoTransmitter</Types></Probe>",
    )
    if host:
        with suppress(OSError):
            udp.sendto(probe, (host, PORT))
        return
    for address in _own_addresses(udp):
        # An interface can be down.
        with suppress(OSError):
            if _is_allowed(socket.inet_ntoa(address), rules):
                udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, address)
                udp.sendto(probe, (MULTICAST, PORT))


def _own_addresses(udp: socket.socket) -> set[bytes]:
    """Return the IPv4 addresses of this machine.

    ``if_nameindex`` would need a netlink socket, which the systemd unit forbids.

    **Source:** netdevice(7), SIOCGIFCONF.
    """
    entries = array("B", bytes(_ENTRY_BYTES * _MAX_INTERFACES))
    place, size = entries.buffer_info()
    answer = fcntl.ioctl(udp, _SIOCGIFCONF, struct.pack("iP", size, place))
    used = struct.unpack("iP", answer)[0]
    return {entries[at + 20 : at + 24].tobytes() for at in range(0, used, _ENTRY_BYTES)}


def _datagrams(udp: socket.socket) -> Iterator[tuple[bytes, str]]:
    """Yield the datagrams of one round, each with the sender's address."""
    ends = time.monotonic() + _ROUND_SECONDS
    for _ in range(_MAX_DATAGRAMS):
        left = ends - time.monotonic()
        if left <= 0:
            return
        udp.settimeout(left)
        # A host without a responder answers with an ICMP error.
        with suppress(OSError):
            data, (source, _port) = udp.recvfrom(65_535)
            yield data, source


def _devices(data: bytes, source: str, rules: StreamUrlRules) -> Iterator[OnvifDevice]:
    """Yield the devices in an answer, with service URLs at the address that sent the answer."""
    try:
        root = parse_answer(data)
    except CaptureError:
        return
    for match in root.iterfind(".//{*}ProbeMatch"):
        scopes = dict(_scope(text) for text in text_of(match, "Scopes").split())
        urls = (url for url in text_of(match, "XAddrs").split() if _is_at(url, source, rules))
        yield OnvifDevice(
            address=source,
            device_url=next(urls, _standard_url(source)),
            name=scopes.get("name", ""),
            model=scopes.get("hardware", ""),
        )


def _scope(text: str) -> tuple[str, str]:
    """Return the kind and value of a scope: ``onvif://www.onvif.org/name/Gate%20north``."""
    kind, _, value = text.removeprefix("onvif://www.onvif.org/").partition("/")
    return kind.lower(), shown(unquote(value))


def _is_at(url: str, address: str, rules: StreamUrlRules) -> bool:
    try:
        parsed = parse_stream_url(url, rules)
    except InvalidInputError:
        return False
    return parsed.host == address and parsed.scheme in ("http", "https")


def _is_allowed(address: str, rules: StreamUrlRules) -> bool:
    try:
        check_address(ip_address(address), rules)
    except InvalidInputError:
        return False
    return True


def _standard_url(host: str) -> str:
    return f"http://{host}/onvif/device_service"
