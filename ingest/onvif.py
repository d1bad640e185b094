"""``python -m ingest.onvif``: finds ONVIF cameras, or lists the streams of one, in a process.

Reads an :class:`OnvifRequest` from standard input, so that the password does not appear in the
process list, and the URL rules from the environment. Writes an :class:`OnvifReport` to standard
output. Both are JSON.

Answers are untrusted. Every address must pass the rules for cameras. A device's answer never leads
to another host: of the URLs in it, only the path is used. Sizes, times and memory are limited, and
XML with a document type is rejected.

**Source:** WS-Discovery (April 2005); ONVIF Core, Media and Media 2 Service Specifications; Web
Services Security UsernameToken Profile 1.0.
"""

import hashlib
import os
import re
import resource
import socket
import sys
import time
import uuid
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import quote, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import msgspec

from common.errors import InvalidInputError
from common.settings import load_settings
from common.urls.camera_settings import CameraAddressSettings, stream_url_rules
from common.urls.streams import StreamUrl, StreamUrlRules, parse_stream_url
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.http_source import HttpSource, resolve
from ingest.capture.messages import CaptureLimits
from ingest.errors import CaptureError, CaptureErrorCode
from ingest.processes.limits import limit_process

MULTICAST: Final = "239.255.255.250"
PORT: Final = 3702
MAX_ANSWER_BYTES: Final = 1024 * 1024
_MAX_DEVICES: Final = 256
_MAX_STREAMS: Final = 64
_MAX_NAME_LENGTH: Final = 100
_ROUNDS: Final = 2
"""Number of times that a probe is sent, because UDP loses datagrams."""
_ROUND_SECONDS: Final = 1.5
_DEVICE_SECONDS: Final = 12.0
_WAIT_SECONDS: Final = 5.0
_STANDARD_URL: Final = "http://{}/onvif/device_service"
_SCOPES: Final = re.compile(r"onvif://www\.onvif\.org/(name|hardware)/(\S+)", re.IGNORECASE)
_TIME_FIELDS: Final = ("Year", "Month", "Day", "Hour", "Minute", "Second")

_ADDRESSING: Final = "http://schemas.xmlsoap.org/ws/2004/08/addressing"
_DISCOVERY: Final = "http://schemas.xmlsoap.org/ws/2005/04/discovery"
_DEVICE: Final = "http://www.onvif.org/ver10/device/wsdl"
_SCHEMA: Final = "http://www.onvif.org/ver10/schema"
_WSS: Final = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss"
_CLOCK: Final = "GetSystemDateAndTime"
_ENVELOPE: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope">'
    "<s:Header>{}</s:Header><s:Body>{}</s:Body></s:Envelope>"
)
_PROBE: Final = _ENVELOPE.format(
    f'<MessageID xmlns="{_ADDRESSING}">uuid:{{}}</MessageID>'
    f'<To xmlns="{_ADDRESSING}">urn:schemas-xmlsoap-org:ws:2005:04:discovery</To>'
    f'<Action xmlns="{_ADDRESSING}">{_DISCOVERY}/Probe</Action>',
    f'<Probe xmlns="{_DISCOVERY}"><Types xmlns:n="http://www.onvif.org/ver10/network/wsdl">'
    "n:NetworkVideoTransmitter</Types></Probe>",
)
_MEDIA: Final = {
    "http://www.onvif.org/ver10/media/wsdl": (
        "",
        "{*}VideoEncoderConfiguration",
        f'<StreamSetup><Stream xmlns="{_SCHEMA}">RTP-Unicast</Stream>'
        f'<Transport xmlns="{_SCHEMA}"><Protocol>RTSP</Protocol></Transport></StreamSetup>',
    ),
    "http://www.onvif.org/ver20/media/wsdl": (
        "<Type>VideoEncoder</Type>",
        "{*}Configurations/{*}VideoEncoder",
        "<Protocol>RTSP</Protocol>",
    ),
}
"""The services that list streams, the preferred one first. Each has the content of GetProfiles, the
path of the encoder in a profile, and the content of GetStreamUri."""


class OnvifRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Lists the streams of the device with the service URL ``device_url``, or finds devices if it
    is empty: at ``address`` (a host, optionally with a port), or all devices in the local networks.
    """

    address: str = ""
    device_url: str = ""
    username: str = ""
    password: str = ""


class OnvifDevice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A device that answered. ``name`` and ``model`` are empty if unknown."""

    address: str
    device_url: str
    name: str = ""
    model: str = ""


class OnvifStream(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A media profile, with its stream URL without a user name, and its frame size in pixels."""

    name: str
    rtsp_url: str
    codec: str | None = None
    frame_width: int | None = None
    frame_height: int | None = None


class OnvifReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was found. ``code`` and ``error`` are the reason for a failure, or None."""

    code: str | None = None
    error: str | None = None
    devices: tuple[OnvifDevice, ...] = ()
    streams: tuple[OnvifStream, ...] = ()


class _NoDocumentType(ElementTree.TreeBuilder):
    def doctype(self, *_: object) -> None:
        raise ValueError("XML with a document type is not allowed")


def _parsed(data: bytes) -> ElementTree.Element:
    """Return the root of an answer without a document type, which could declare entities."""
    try:
        return ElementTree.fromstring(data, ElementTree.XMLParser(target=_NoDocumentType()))
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise CaptureError(CaptureErrorCode.NOT_ONVIF) from error


def _text(element: ElementTree.Element, name: str) -> str:
    """Return the text of the first element below ``element`` with a local name, or ""."""
    return (element.findtext(f".//{{*}}{name}") or "").strip()


def _shown(text: str) -> str:
    """Return a text of a device, shortened and without control characters."""
    return "".join(filter(str.isprintable, text))[:_MAX_NAME_LENGTH]


def find_devices(address: str, rules: StreamUrlRules) -> tuple[OnvifDevice, ...]:
    """Return the devices that answer a WS-Discovery probe within three seconds.

    The probe is sent to ``address`` or, if empty, as multicast on each interface whose IPv4 address
    is allowed for cameras. A host that does not answer is returned with ONVIF's standard URL.

    Raises:
        CaptureError: ``address`` is invalid or forbidden, or the name cannot be resolved.
    """
    url = _allowed(f"http://{address}", rules)
    if address and url is None:
        raise CaptureError(CaptureErrorCode.FORBIDDEN)
    host = resolve(url.host, url.port, rules) if url else ""
    found: dict[str, OnvifDevice] = {}
    for data, source in _datagrams(host, rules):
        found |= {one.device_url: one for one in _devices(data, source, rules)}
        if (host and found) or len(found) >= _MAX_DEVICES:
            break
    if address and not found:
        return (OnvifDevice(address=address, device_url=_STANDARD_URL.format(address)),)
    return tuple(found.values())[:_MAX_DEVICES]


def _datagrams(host: str, rules: StreamUrlRules) -> Iterator[tuple[bytes, str]]:
    """Send probes, and yield the answers from allowed addresses, each with the address."""
    interfaces = {"0.0.0.0"}
    if not host:
        # if_nameindex would need a netlink socket, which the systemd unit forbids.
        routes = Path("/proc/self/net/fib_trie").read_text()
        addresses = re.findall(r"\|-- (\S+)\s+/32 host LOCAL", routes)
        interfaces = {own for own in addresses if _allowed(f"http://{own}", rules)}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        for _ in range(_ROUNDS if ":" not in host else 0):
            for own in interfaces:
                # An interface can be down.
                with suppress(OSError):
                    udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
                    udp.sendto(_PROBE.format(uuid.uuid4()).encode(), (host or MULTICAST, PORT))
            ends = time.monotonic() + _ROUND_SECONDS
            while (left := ends - time.monotonic()) > 0:
                udp.settimeout(left)
                # A host without a responder answers with an ICMP error.
                with suppress(OSError):
                    data, (source, _port) = udp.recvfrom(65_535)
                    if host in ("", source) and _allowed(f"http://{source}", rules):
                        yield data, source


def _devices(data: bytes, source: str, rules: StreamUrlRules) -> Iterator[OnvifDevice]:
    """Yield the devices in an answer, with service URLs at the address that sent the answer."""
    with suppress(CaptureError):
        for match in _parsed(data).iterfind(".//{*}ProbeMatch"):
            urls = (_allowed(text, rules) for text in _text(match, "XAddrs").split())
            own = (url.text for url in urls if url and url.host == source and "http" in url.scheme)
            scopes = _SCOPES.findall(_text(match, "Scopes"))
            names = {kind.lower(): _shown(unquote(value)) for kind, value in scopes}
            yield OnvifDevice(
                address=source,
                device_url=next(own, _STANDARD_URL.format(source)),
                name=names.get("name", ""),
                model=names.get("hardware", ""),
            )


def _allowed(url: str, rules: StreamUrlRules) -> StreamUrl | None:
    with suppress(InvalidInputError):
        return parse_stream_url(url, rules)
    return None


def list_streams(
    request: OnvifRequest, rules: StreamUrlRules, ca_file: str = ""
) -> tuple[OnvifStream, ...]:
    """Return the video streams of a device, in the device's order.

    Raises:
        CaptureError: the device cannot be reached, rejects the password or has no video streams.
    """
    device = _Device(request, rules, ca_file)
    services = device.call(device.url, _DEVICE, "GetServices").iterfind(".//{*}Service")
    urls = {_text(one, "Namespace"): _text(one, "XAddr") for one in services}
    media = next((name for name in _MEDIA if name in urls), None)
    if media is None:
        raise CaptureError(CaptureErrorCode.NOT_ONVIF)
    wanted, encoder_path, setup = _MEDIA[media]
    url = device.own_url(urls[media])
    profiles = device.call(url, media, "GetProfiles", wanted).findall(".//{*}Profiles")
    streams: list[OnvifStream] = []
    for profile in profiles[:_MAX_STREAMS]:
        encoder, token = profile.find(encoder_path), profile.get("token", "")
        if encoder is None:
            continue
        content = f"{setup}<ProfileToken>{escape(token)}</ProfileToken>"
        try:
            answer = device.call(url, media, "GetStreamUri", content)
            stream = OnvifStream(
                name=_shown(_text(profile, "Name") or token),
                rtsp_url=device.own_url(_text(answer, "Uri"), is_stream=True),
                codec=_shown(_text(encoder, "Encoding")) or None,
                frame_width=_size(_text(encoder, "Width")),
                frame_height=_size(_text(encoder, "Height")),
            )
            streams.append(stream)
        except CaptureError as error:
            # Recorders have profiles of channels without a camera.
            if error.code is not CaptureErrorCode.NOT_ONVIF:
                raise
    if not streams:
        raise CaptureError(CaptureErrorCode.NOT_ONVIF)
    return tuple(streams)


def _size(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= 5 else None


class _Device:
    """Calls the services of a device. All calls together have a time limit."""

    def __init__(self, request: OnvifRequest, rules: StreamUrlRules, ca_file: str) -> None:
        self._rules = rules
        self._username, self._password = request.username, request.password
        given = urlsplit(request.device_url)
        login = f"{quote(self._username, '')}:{quote(self._password, '')}"
        deadline = ConnectionDeadline()
        deadline.start(_DEVICE_SECONDS)
        self._source = HttpSource(
            given._replace(netloc=f"{login}@{given.netloc.rpartition('@')[2]}").geturl(),
            rules,
            CaptureLimits(
                open_timeout_seconds=_WAIT_SECONDS,
                read_timeout_seconds=_WAIT_SECONDS,
                ca_file=ca_file,
            ),
            deadline,
            sends_password=False,
        )
        self.url = self._source.url
        self._clock_ahead = timedelta()
        # Devices reject passwords with another time than their own.
        answer = self.call(self.url, _DEVICE, _CLOCK)
        fields = [_text(answer, f"UTCDateTime//{{*}}{name}") for name in _TIME_FIELDS]
        with suppress(ValueError):
            now = datetime.strptime(" ".join([*fields, "Z"]), "%Y %m %d %H %M %S %z")
            self._clock_ahead = now - datetime.now(UTC)

    def own_url(self, given: str, *, is_stream: bool = False) -> str:
        """Return the URL of a service or stream in an answer, at this device, without user name."""
        try:
            own, parts = urlsplit(self.url), urlsplit(given)
            if is_stream:
                host = own.netloc.removesuffix(f":{own.port}")
                place = host if parts.port is None else f"{host}:{parts.port}"
                own = own._replace(scheme=parts.scheme, netloc=place)
            url = own._replace(path=parts.path, query=parts.query).geturl()
            if is_stream and not parse_stream_url(url, self._rules).scheme.startswith("rtsp"):
                raise ValueError("a device must return an RTSP URL")
        except (ValueError, InvalidInputError) as error:
            raise CaptureError(CaptureErrorCode.NOT_ONVIF) from error
        return url

    def call(self, url: str, namespace: str, name: str, content: str = "") -> ElementTree.Element:
        """Return the answer to a call. The call has the password's digest, except for the clock."""
        header = self._login() if self._username and name != _CLOCK else ""
        soap = _ENVELOPE.format(header, f'<{name} xmlns="{namespace}">{content}</{name}>')
        data = b""
        with closing(self._source.open(url, soap.encode())) as answer:
            while part := answer.read(65_536):
                data += part
                if len(data) > MAX_ANSWER_BYTES:
                    raise CaptureError(CaptureErrorCode.TOO_MUCH)
        root = _parsed(data)
        fault = root.find(".//{*}Fault")
        if fault is not None:
            is_refusal = re.search("NotAuthorized|FailedAuthentication", "".join(fault.itertext()))
            code = CaptureErrorCode.CREDENTIALS if is_refusal else CaptureErrorCode.NOT_ONVIF
            raise CaptureError(code)
        return root

    def _login(self) -> str:
        nonce = os.urandom(16)
        created = (datetime.now(UTC) + self._clock_ahead).strftime("%Y-%m-%dT%H:%M:%SZ")
        secret = nonce + created.encode() + self._password.encode()
        digest = hashlib.sha1(secret, usedforsecurity=False).digest()
        kind = f"{_WSS}-username-token-profile-1.0#PasswordDigest"
        return (
            f'<Security s:mustUnderstand="1" xmlns="{_WSS}-wssecurity-secext-1.0.xsd">'
            f"<UsernameToken><Username>{escape(self._username)}</Username>"
            f'<Password Type="{kind}">{b64encode(digest).decode()}</Password>'
            f'<Nonce EncodingType="{_WSS}-soap-message-security-1.0#Base64Binary">'
            f"{b64encode(nonce).decode()}</Nonce>"
            f'<Created xmlns="{_WSS}-wssecurity-utility-1.0.xsd">{created}</Created>'
            "</UsernameToken></Security>"
        )


def main(source: BinaryIO, output: BinaryIO) -> None:
    """Handle the request read from ``source``, and write the report to ``output``."""
    limit_process(512 * 1024**2, {resource.RLIMIT_CPU: 10})
    settings = load_settings(CameraAddressSettings)
    rules = stream_url_rules(settings)
    request = msgspec.json.decode(source.read(), type=OnvifRequest)
    try:
        if request.device_url:
            report = OnvifReport(streams=list_streams(request, rules, settings.camera_ca_file))
        else:
            report = OnvifReport(devices=find_devices(request.address, rules))
    except CaptureError as error:
        report = OnvifReport(code=error.code.name.lower(), error=error.code.value)
    output.write(msgspec.json.encode(report))
    output.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
