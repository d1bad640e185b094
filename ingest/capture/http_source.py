"""Reads the streams of HTTP cameras, and checks each connection.

FFmpeg's HTTP client follows redirects and playlists to any destination. Here, each URL (the stream
URL, and the URLs in redirects and playlists) must pass the rules for stream URLs, and the
connection uses the checked IP address. Received bytes and waiting times are limited
(:mod:`ingest.capture.deadline`).
"""

import http.client
import io
import socket
import ssl
import string
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit

from common.errors import InvalidInputError
from common.urls.resolver import look_up
from common.urls.streams import (
    StreamScheme,
    StreamUrl,
    StreamUrlRules,
    check_address,
    literal_address,
    parse_stream_url,
)
from ingest.capture.authentication import split_login
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.messages import CaptureLimits
from ingest.errors import CaptureError, CaptureErrorCode, refusal

_FIELDS: Final = (b"User-Agent: platestream", b"Accept: */*", b"Connection: close")
_SOAP_FIELDS: Final = (b"Content-Type: application/soap+xml; charset=utf-8",)
_SOAP_FAULTS: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS: Final = 10
_READ_BYTES: Final = 65_536


class HttpBody:
    """A response body as a non-seekable file for FFmpeg."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self._is_broken = False
        self._begun = b""
        self.media_type = response.headers.get_content_type()

    def read(self, size: int) -> bytes:
        """Return the available bytes, at most ``size``, or no bytes at the end and after an error.

        Raises:
            CaptureError: the camera timed out or closed the connection, or the capture was stopped.
        """
        if self._begun:
            begun, self._begun = self._begun[:size], self._begun[size:]
            return begun
        # PyAV raises the first error when FFmpeg returns, and prints each later error.
        if self._is_broken:
            return b""
        try:
            # read() would wait for ``size`` bytes, which takes a second with a slow stream.
            return self._response.read1(size)
        except CaptureError:
            self._is_broken = True
            raise
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._is_broken = True
            raise CaptureError(CaptureErrorCode.SILENT) from error

    def peek(self, size: int) -> bytes:
        """Return the first ``size`` bytes, or all bytes of a shorter body, which stay unread.

        Raises:
            CaptureError: see :meth:`read`.
        """
        parts, missing = [self._begun], size - len(self._begun)
        self._begun = b""
        while missing > 0 and (part := self.read(min(_READ_BYTES, missing))):
            parts.append(part)
            missing -= len(part)
        self._begun = b"".join(parts)
        return self._begun[:size]

    def close(self) -> None:
        """Close the connection."""
        self._response.close()


class HttpSource:
    """Opens the HTTP URLs of a camera."""

    def __init__(
        self,
        text: str,
        rules: StreamUrlRules,
        limits: CaptureLimits,
        deadline: ConnectionDeadline,
        *,
        sends_password: bool = True,
    ) -> None:
        """``text`` is the stream URL, including the user name and password, if any.

        ``sends_password``: whether Basic is allowed, not only Digest.
        """
        self.url, self._login = split_login(text, sends_password=sends_password)
        self._rules = rules
        self._deadline = deadline
        self._limits = limits

    def open(self, url: str, soap: bytes | None = None) -> HttpBody:
        """Return the body at a URL, after redirects and authentication.

        ``soap`` is an envelope to post. The body can then be a SOAP fault. Redirects are errors.

        Raises:
            CaptureError: the URL is forbidden, or the server does not respond or returns an error.
        """
        if soap is not None:
            return HttpBody(self._answer(url, soap))
        for _ in range(_MAX_REDIRECTS + 1):
            answer = self._answer(url)
            if answer.status not in _REDIRECTS:
                return HttpBody(answer)
            # Do not read the redirect's body, which may never end.
            answer.close()
            target = quote(answer.headers.get("Location", ""), string.punctuation, "iso-8859-1")
            url = urljoin(url, target)
        raise CaptureError(CaptureErrorCode.NO_STREAM)

    def _answer(self, url: str, soap: bytes | None = None) -> http.client.HTTPResponse:
        """Return a successful response, a redirect of GET, or a SOAP fault."""
        checked = self._checked(url)
        answer = self._requested(checked, soap)
        # Only the camera's host and port get the password, not other targets of a redirect.
        if (
            answer.status == HTTPStatus.UNAUTHORIZED
            and _origin(url) == _origin(self.url)
            and self._login.challenged(answer.headers.get_all("WWW-Authenticate", ()))
        ):
            answer.close()
            answer = self._requested(checked, soap)
        if soap is not None:
            is_accepted = answer.status == HTTPStatus.OK or answer.status in _SOAP_FAULTS
        else:
            is_accepted = answer.status < HTTPStatus.BAD_REQUEST
        if not is_accepted:
            answer.close()
            code = refusal(answer.status)
            if soap is not None and code is not CaptureErrorCode.CREDENTIALS:
                code = CaptureErrorCode.NOT_ONVIF
            raise CaptureError(code)
        return answer

    def _requested(self, url: StreamUrl, soap: bytes | None) -> http.client.HTTPResponse:
        parts = urlsplit(url.text)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        is_ours = _origin(url.text) == _origin(self.url)
        method = "GET" if soap is None else "POST"
        proof = self._login.authorization(method, target) if is_ours else None
        try:
            host = parts.netloc.rpartition("@")[2]
            start = f"{method} {target} HTTP/1.1\r\nHost: {host}".encode("ascii")
            lines = [start, *_FIELDS]
            if proof is not None:
                lines.append(b"Authorization: " + proof)
            if soap is not None:
                lines += [*_SOAP_FIELDS, b"Content-Length: %d" % len(soap)]
            return self._response(url, b"\r\n".join((*lines, b"", soap or b"")))
        except (OSError, http.client.HTTPException, ValueError):
            raise CaptureError(CaptureErrorCode.UNREACHABLE) from None

    def _response(self, url: StreamUrl, request: bytes) -> http.client.HTTPResponse:
        waits = self._deadline, self._limits.read_timeout_seconds
        # The response has its own reference to the socket.
        with connect(url, self._rules, self._limits, self._deadline) as connection:
            connection.settimeout(self._limits.read_timeout_seconds)
            connection.sendall(request)
            answer = http.client.HTTPResponse(connection)
            # Check the deadline in the stream: the response reads headers and chunks unchecked.
            guarded = _GuardedStream(answer.fp.detach(), connection, *waits)
            answer.fp = io.BufferedReader(guarded)
            try:
                answer.begin()
            except BaseException:
                answer.close()
                raise
            return answer

    def _checked(self, text: str) -> StreamUrl:
        try:
            url = parse_stream_url(text, self._rules)
        except InvalidInputError as error:
            raise CaptureError(CaptureErrorCode.FORBIDDEN) from error
        if url.scheme not in (StreamScheme.HTTP, StreamScheme.HTTPS):
            raise CaptureError(CaptureErrorCode.FORBIDDEN)
        return url


class _GuardedStream(io.RawIOBase):
    """A socket's stream that checks the deadline at each read."""

    def __init__(
        self,
        stream: io.RawIOBase,
        connection: socket.socket,
        deadline: ConnectionDeadline,
        timeout_seconds: float,
    ) -> None:
        self._stream = stream
        self._connection = connection
        self._deadline = deadline
        self._timeout_seconds = timeout_seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        with self._deadline.guarded_wait(self._connection, self._timeout_seconds):
            size_bytes = self._stream.readinto(buffer)
        self._deadline.count_bytes(size_bytes or 0)
        return size_bytes

    def close(self) -> None:
        self._stream.close()
        super().close()


def resolve(host: str, port: int, rules: StreamUrlRules) -> str:
    """Return an IP address of ``host``, checked against the rules.

    Callers connect to this address and not to the name. This prevents DNS rebinding. A name is
    rejected if any of its addresses is forbidden.

    Raises:
        CaptureError: the address is forbidden, or the name cannot be resolved.
    """
    literal = literal_address(host)
    # The host may be in a legacy form (127.1), which resolvers interpret differently.
    addresses = [] if literal is None else [str(literal)]
    if literal is None:
        with suppress(OSError, UnicodeError):
            addresses = [one.text for one in look_up(host, port)]
    try:
        for address in addresses:
            check_address(ip_address(address.partition("%")[0]), rules)
    except InvalidInputError as error:
        raise CaptureError(CaptureErrorCode.FORBIDDEN) from error
    if not addresses:
        raise CaptureError(CaptureErrorCode.UNREACHABLE)
    return addresses[0]


def connect(
    url: StreamUrl, rules: StreamUrlRules, limits: CaptureLimits, deadline: ConnectionDeadline
) -> socket.socket:
    """Return a connection to a camera at a checked IP address, over TLS for rtsps and https.

    Raises:
        CaptureError: the IP address is forbidden, or the certificate cannot be verified.
        OSError: the camera cannot be reached.
    """
    address = resolve(url.host, url.port, rules)
    seconds = deadline.remaining_seconds(limits.open_timeout_seconds)
    connection = socket.create_connection((address, url.port), seconds)
    if url.scheme in (StreamScheme.RTSP, StreamScheme.HTTP):
        return connection
    tls = _tls_context(limits.ca_file).wrap_socket(
        connection, server_hostname=url.host, do_handshake_on_connect=False
    )
    try:
        with deadline.guarded_wait(tls, limits.open_timeout_seconds):
            tls.do_handshake()
    except BaseException as error:
        tls.close()
        if isinstance(error, ssl.SSLCertVerificationError):
            raise CaptureError(CaptureErrorCode.CERTIFICATE) from None
        raise
    return tls


@cache
def _tls_context(ca_file: str) -> ssl.SSLContext:
    """Return a TLS context, which verifies certificates only if there is a CA file.

    Used for rtsps and https cameras, most of which have self-signed certificates.
    """
    if ca_file:
        return ssl.create_default_context(cafile=ca_file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _origin(url: str) -> tuple[str, str]:
    return urlsplit(url)[:2]
