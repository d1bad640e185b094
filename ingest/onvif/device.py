"""Lists the video streams of an ONVIF device.

**Source:** ONVIF Core, Media and Media 2 Service Specifications; Web Services Security
UsernameToken Profile 1.0.
"""

import base64
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from common.errors import InvalidInputError
from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.http_source import HttpSource
from ingest.capture.messages import CaptureLimits
from ingest.errors import CaptureError, CaptureErrorCode
from ingest.onvif.messages import (
    OnvifRequest,
    OnvifStream,
    envelope,
    parse_answer,
    shown,
    text_of,
)

MAX_ANSWER_BYTES: Final = 1024 * 1024
MAX_STREAMS: Final = 64
_DEVICE_SECONDS: Final = 12.0
_WAIT_SECONDS: Final = 5.0
_DEVICE: Final = "http://www.onvif.org/ver10/device/wsdl"
_MEDIA: Final = "http://www.onvif.org/ver10/media/wsdl"
_MEDIA_2: Final = "http://www.onvif.org/ver20/media/wsdl"
_SCHEMA: Final = "http://www.onvif.org/ver10/schema"
_WSS: Final = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss"
_RTP_OVER_RTSP: Final = (
    f'<StreamSetup><Stream xmlns="{_SCHEMA}">RTP-Unicast</Stream>'
    f'<Transport xmlns="{_SCHEMA}"><Protocol>RTSP</Protocol></Transport></StreamSetup>'
)
_TIME_FIELDS: Final = ("Year", "Month", "Day", "Hour", "Minute", "Second")


def list_streams(
    request: OnvifRequest, rules: StreamUrlRules, ca_file: str = ""
) -> tuple[OnvifStream, ...]:
    """Return the video streams of a device, in the device's order.

    Raises:
        CaptureError: the device cannot be reached, rejects the password or has no video streams.
    """
    device = _Device(request, rules, ca_file)
    device.read_clock()
    services = device.call(device.url, f'<GetServices xmlns="{_DEVICE}"/>').iterfind(
        ".//{*}Service"
    )
    urls = {text_of(one, "Namespace"): text_of(one, "XAddr") for one in services}
    namespace = _MEDIA if _MEDIA in urls else _MEDIA_2
    if namespace not in urls:
        raise CaptureError(CaptureErrorCode.NOT_ONVIF)
    url = device.service_url(urls[namespace])
    wanted = "" if namespace == _MEDIA else "<Type>VideoEncoder</Type>"
    profiles = device.call(url, f'<GetProfiles xmlns="{namespace}">{wanted}</GetProfiles>')
    streams: list[OnvifStream] = []
    for profile in list(profiles.iterfind(".//{*}Profiles"))[:MAX_STREAMS]:
        try:
            streams += _streams(device, url, namespace, profile)
        except CaptureError as error:
            # Recorders have profiles of channels without a camera.
            if error.code is not CaptureErrorCode.NOT_ONVIF:
                raise
    if not streams:
        raise CaptureError(CaptureErrorCode.NOT_ONVIF)
    return tuple(streams)


class _Device:
    """Calls the services of a device. All calls together have a time limit."""

    def __init__(self, request: OnvifRequest, rules: StreamUrlRules, ca_file: str) -> None:
        own = urlsplit(request.device_url)
        host = own.netloc.rpartition("@")[2]
        self.url = urlunsplit((own.scheme, host, own.path, own.query, ""))
        self._rules = rules
        self._username, self._password = request.username, request.password
        self._clock_ahead = timedelta()
        deadline = ConnectionDeadline()
        deadline.start(_DEVICE_SECONDS)
        login = f"{quote(self._username, '')}:{quote(self._password, '')}"
        self._source = HttpSource(
            urlunsplit((own.scheme, f"{login}@{host}", own.path, own.query, "")),
            rules,
            CaptureLimits(
                open_timeout_seconds=_WAIT_SECONDS,
                read_timeout_seconds=_WAIT_SECONDS,
                ca_file=ca_file,
            ),
            deadline,
            sends_password=False,
        )

    def service_url(self, given: str) -> str:
        """Return the URL of a service: the path of ``given``, at this device."""
        with _invalid_as_not_onvif():
            path = urlsplit(given)
        own = urlsplit(self.url)
        return urlunsplit((own.scheme, own.netloc, path.path, path.query, ""))

    def stream_url(self, given: str) -> str:
        """Return the URL of a stream, at this device and without a user name."""
        own = urlsplit(self.url)
        host = own.netloc.removesuffix(f":{own.port}")
        with _invalid_as_not_onvif():
            parts = urlsplit(given)
            if parts.scheme not in ("rtsp", "rtsps"):
                raise ValueError("a device must return an RTSP URL")
            place = host if parts.port is None else f"{host}:{parts.port}"
            url = urlunsplit((parts.scheme, place, parts.path, parts.query, ""))
            return parse_stream_url(url, self._rules).text

    def read_clock(self) -> None:
        """Get the device's time: devices reject passwords with another time than their own."""
        call = f'<GetSystemDateAndTime xmlns="{_DEVICE}"/>'
        now = self.call(self.url, call, is_public=True).find(".//{*}UTCDateTime")
        if now is not None:
            fields = "-".join(text_of(now, name) for name in _TIME_FIELDS)
            with suppress(ValueError):
                time = datetime.strptime(f"{fields} Z", "%Y-%m-%d-%H-%M-%S %z")
                self._clock_ahead = time - datetime.now(UTC)

    def call(self, url: str, body: str, *, is_public: bool = False) -> Element:
        """Return the answer to a call. Without ``is_public``, the call has the password's digest.

        Raises:
            CaptureError: the device cannot be reached, or returns a fault.
        """
        header = "" if is_public or not self._username else self._token()
        answer = self._source.open(url, envelope(header, body))
        try:
            data = b""
            while part := answer.read(65_536):
                data += part
                if len(data) > MAX_ANSWER_BYTES:
                    raise CaptureError(CaptureErrorCode.TOO_MUCH)
        finally:
            answer.close()
        root = parse_answer(data)
        fault = root.find(".//{*}Fault")
        if fault is not None:
            codes = {(value.text or "").strip().rpartition(":")[2] for value in fault.iter()}
            is_refusal = not codes.isdisjoint({"NotAuthorized", "FailedAuthentication"})
            code = CaptureErrorCode.CREDENTIALS if is_refusal else CaptureErrorCode.NOT_ONVIF
            raise CaptureError(code)
        return root

    def _token(self) -> str:
        nonce = os.urandom(16)
        created = (datetime.now(UTC) + self._clock_ahead).strftime("%Y-%m-%dT%H:%M:%SZ")
        secret = nonce + created.encode() + self._password.encode()
        digest = hashlib.sha1(secret, usedforsecurity=False).digest()
        kind = f"{_WSS}-username-token-profile-1.0#PasswordDigest"
        return (
            f'<Security s:mustUnderstand="1" xmlns="{_WSS}-wssecurity-secext-1.0.xsd">'
            f"<UsernameToken><Username>{escape(self._username)}</Username>"
            f'<Password Type="{kind}">{base64.b64encode(digest).decode()}</Password>'
            f'<Nonce EncodingType="{_WSS}-soap-message-security-1.0#Base64Binary">'
            f"{base64.b64encode(nonce).decode()}</Nonce>"
            f'<Created xmlns="{_WSS}-wssecurity-utility-1.0.xsd">{created}</Created>'
            "</UsernameToken></Security>"
        )


def _streams(device: _Device, url: str, namespace: str, profile: Element) -> Iterator[OnvifStream]:
    """Yield the stream of a profile, or nothing if the profile has no video."""
    encoder = profile.find("{*}VideoEncoderConfiguration")
    if encoder is None:
        encoder = profile.find("{*}Configurations/{*}VideoEncoder")
    if encoder is None:
        return
    token = escape(profile.get("token", ""))
    setup = _RTP_OVER_RTSP if namespace == _MEDIA else "<Protocol>RTSP</Protocol>"
    answer = device.call(
        url,
        f'<GetStreamUri xmlns="{namespace}">{setup}<ProfileToken>{token}</ProfileToken>'
        "</GetStreamUri>",
    )
    yield OnvifStream(
        name=shown(text_of(profile, "Name") or token),
        rtsp_url=device.stream_url(text_of(answer, "Uri")),
        codec=shown(text_of(encoder, "Encoding")) or None,
        frame_width=_size(text_of(encoder, "Width")),
        frame_height=_size(text_of(encoder, "Height")),
    )


@contextmanager
def _invalid_as_not_onvif() -> Iterator[None]:
    try:
        yield
    except (ValueError, InvalidInputError) as error:
        raise CaptureError(CaptureErrorCode.NOT_ONVIF) from error


def _size(text: str) -> int | None:
    return int(text) if text.isdecimal() and 0 < len(text) <= 5 else None
