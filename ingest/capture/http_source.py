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
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import cache, partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from common.errors import InvalidInputError
from common.urls.streams import StreamScheme, StreamUrlRules, parse_stream_url
from ingest.addresses import resolve
from ingest.capture.deadline import ConnectionDeadline
from ingest.errors import CaptureError, CaptureErrorCode

_USER_AGENT: Final = "platestream"
_CREDENTIALS_REJECTED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_SOAP_FAULTS: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR})


class HttpBody:
    """A response body as a non-seekable file for FFmpeg."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self._is_broken = False
        self.media_type = response.headers.get_content_type()

    def read(self, size: int) -> bytes:
        """Return the available bytes, at most ``size``, or no bytes at the end and after an error.

        Raises:
            CaptureError: the camera timed out or closed the connection, or the capture was stopped.
        """
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

    def close(self) -> None:
        """Close the connection."""
        self._response.close()


class HttpSource:
    """Opens the HTTP URLs of a camera."""

    def __init__(
        self,
        text: str,
        rules: StreamUrlRules,
        deadline: ConnectionDeadline,
        *,
        timeout_seconds: float,
        ca_file: str = "",
        sends_password: bool = True,
    ) -> None:
        """``text`` is the stream URL, including the user name and password, if any.

        ``timeout_seconds`` limits each wait for the camera. ``ca_file`` contains the certificates
        that verify the camera's certificate. If empty, there is no verification.
        ``sends_password``: whether basic authentication is allowed, not only digest authentication.
        """
        self.url, user, password = _without_user(text)
        self._rules = rules
        self._deadline = deadline
        self._timeout_seconds = timeout_seconds
        self._ca_file = ca_file
        self._answers: list[http.client.HTTPResponse] = []
        self._opener = self._make_opener(user, password, sends_password)

    def open(self, url: str, soap: bytes | None = None) -> HttpBody:
        """Return the body at a URL, after redirects and authentication.

        ``soap`` is an envelope to post. The body can then be a SOAP fault. Redirects are errors.

        Raises:
            CaptureError: the URL is forbidden, or the server does not respond or returns an error.
        """
        self._check(url)
        self._answers.clear()
        try:
            return HttpBody(self._answer(url, soap))
        except CaptureError:
            self._close_answers()
            raise

    def _answer(self, url: str, soap: bytes | None) -> http.client.HTTPResponse:
        headers = {"User-Agent": _USER_AGENT}
        if soap is not None:
            headers["Content-Type"] = "application/soap+xml; charset=utf-8"
        request = urllib.request.Request(url, soap, headers)
        missing = CaptureErrorCode.NO_STREAM if soap is None else CaptureErrorCode.NOT_ONVIF
        try:
            self._opener.open(request, timeout=self._timeout_seconds)
        except urllib.error.HTTPError as error:
            is_refusal = error.code in _CREDENTIALS_REJECTED
            raise CaptureError(CaptureErrorCode.CREDENTIALS if is_refusal else missing) from None
        except ValueError:
            # urllib raises this for an unknown authentication scheme.
            raise CaptureError(CaptureErrorCode.CREDENTIALS) from None
        except (OSError, http.client.HTTPException) as error:
            is_untrusted = isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError)
            code = CaptureErrorCode.CERTIFICATE if is_untrusted else CaptureErrorCode.UNREACHABLE
            raise CaptureError(code) from None
        # urllib does not close the responses that requested a password or redirected.
        answer = self._answers.pop()
        self._close_answers()
        return answer

    def _close_answers(self) -> None:
        for answer in self._answers:
            answer.close()

    def _check(self, url: str) -> None:
        try:
            scheme = parse_stream_url(url, self._rules).scheme
        except InvalidInputError as error:
            raise CaptureError(CaptureErrorCode.FORBIDDEN) from error
        if scheme not in (StreamScheme.HTTP, StreamScheme.HTTPS):
            raise CaptureError(CaptureErrorCode.FORBIDDEN)

    def _make_opener(
        self, user: str | None, password: str, sends_password: bool
    ) -> urllib.request.OpenerDirector:
        passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        if user is not None:
            # Only this host and port get the password, not other targets of a redirect.
            passwords.add_password(None, _origin(self.url), user, password)
        opener = urllib.request.OpenerDirector()
        for handler in (
            _HttpHandler(self._rules, self._deadline, self._answers),
            _HttpsHandler(self._rules, self._deadline, self._answers, self._ca_file),
            _RedirectHandler(self._check),
            *([urllib.request.HTTPBasicAuthHandler(passwords)] if sends_password else []),
            urllib.request.HTTPDigestAuthHandler(passwords),
            urllib.request.HTTPDefaultErrorHandler(),
            _ErrorProcessor(),
        ):
            opener.add_handler(handler)
        return opener


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


class _CheckedConnection(http.client.HTTPConnection):
    """Connects to the checked IP address, but uses the requested host name."""

    def __init__(
        self, host: str, *, rules: StreamUrlRules, deadline: ConnectionDeadline, **options: Any
    ) -> None:
        super().__init__(host, **options)
        self._rules = rules
        self._deadline = deadline
        self._timeout_seconds: float = options["timeout"]
        # Check the deadline here: http.client reads headers, chunk lengths and trailers unchecked.
        self.response_class = self._respond  # type: ignore[assignment]

    def connect(self) -> None:
        address = resolve(self.host, self.port, self._rules)
        seconds = self._deadline.remaining_seconds(self._timeout_seconds)
        self.sock = socket.create_connection((address, self.port), seconds)

    def _respond(self, connection: socket.socket, *args: Any, **options: Any) -> Any:
        answer = http.client.HTTPResponse(connection, *args, **options)
        stream = answer.fp.detach()
        guarded = _GuardedStream(stream, connection, self._deadline, self._timeout_seconds)
        answer.fp = io.BufferedReader(guarded)
        return answer


class _CheckedTlsConnection(_CheckedConnection):
    default_port = http.client.HTTPS_PORT

    def __init__(self, host: str, *, ca_file: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._ca_file = ca_file

    def connect(self) -> None:
        super().connect()
        tls = tls_context(self._ca_file).wrap_socket(
            self.sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        self.sock = tls
        with self._deadline.guarded_wait(tls, self._timeout_seconds):
            tls.do_handshake()


class _HttpHandler(urllib.request.HTTPHandler):
    def __init__(
        self,
        rules: StreamUrlRules,
        deadline: ConnectionDeadline,
        answers: list[http.client.HTTPResponse],
    ) -> None:
        super().__init__()
        self._options: dict[str, Any] = {"rules": rules, "deadline": deadline}
        self._answers = answers

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        answer = self.do_open(partial(_CheckedConnection, **self._options), req)
        self._answers.append(answer)
        return answer


class _HttpsHandler(urllib.request.HTTPSHandler):
    def __init__(
        self,
        rules: StreamUrlRules,
        deadline: ConnectionDeadline,
        answers: list[http.client.HTTPResponse],
        ca_file: str,
    ) -> None:
        super().__init__()
        self._options: dict[str, Any] = {"rules": rules, "deadline": deadline, "ca_file": ca_file}
        self._answers = answers

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        answer = self.do_open(partial(_CheckedTlsConnection, **self._options), req)
        self._answers.append(answer)
        return answer


class _RedirectHandler(urllib.request.HTTPRedirectHandler):
    def __init__(self, check: Callable[[str], None]) -> None:
        self._check = check

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: Any,
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.data is not None:
            return None
        self._check(newurl)
        # Otherwise urllib reads the redirect's body, which may never end.
        fp.close()
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _ErrorProcessor(urllib.request.HTTPErrorProcessor):
    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        if request.data is not None and response.status in _SOAP_FAULTS:
            return response
        return super().http_response(request, response)

    https_response = http_response


@cache
def tls_context(ca_file: str) -> ssl.SSLContext:
    """Return a TLS context, which verifies certificates only if there is a CA file.

    Used for rtsps and https cameras, most of which have self-signed certificates.
    """
    if ca_file:
        return ssl.create_default_context(cafile=ca_file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _without_user(text: str) -> tuple[str, str | None, str]:
    parts = urlsplit(text)
    user_info, _, host = parts.netloc.rpartition("@")
    url = urlunsplit((parts.scheme, host, parts.path or "/", parts.query, ""))
    if not user_info:
        return url, None, ""
    user, _, password = user_info.partition(":")
    return url, unquote(user), unquote(password)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"
