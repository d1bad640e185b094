"""Sends signed requests to URLs configured by clients. Only this module imports aiohttp.

The address is checked when the socket is created, and the socket connects to exactly the checked
address. Therefore neither a name that resolves differently a moment later nor a literal address can
bypass the check. Redirects are not followed, proxy settings of the environment are not used, and
cookies are not stored.
"""

import asyncio
import socket
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from ipaddress import ip_address

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from opentelemetry.trace import Span, SpanKind
from yarl import URL

from common.errors import InvalidInputError
from common.telemetry.tracing import TRACEPARENT, fail, trace_of, traced
from common.urls.outbound import OutboundRules, check_outbound_address, parse_outbound_url
from common.urls.resolver import SystemResolver
from streams.webhooks.delivery.schedule import SendKind, SendResult, kind_of_status

_MAX_RESPONSE_BYTES = 64 * 1024
_READ_SECONDS = 1.0
# More than the attempts that can fail concurrently, at most half of CONCURRENT_ATTEMPTS.
_RESOLVER_THREADS = 512
# The dispatcher limits the concurrency per endpoint.
_NO_LIMIT = 0
_IDLE_SECONDS = 30.0
_ADDRESSES_REMEMBERED = 4096


@dataclass(frozen=True, repr=False)
class SignedRequest:
    """A signed request. ``headers`` are complete, except for headers that HTTP itself needs."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"


@dataclass(frozen=True, repr=False)
class ReceiverAnswer:
    """The response of a receiver. A long or slow ``body`` is truncated."""

    headers: Mapping[str, str]
    body: bytes


@dataclass
class _Dialled:
    """The number of allowed addresses that one request dialled, and why others were rejected."""

    allowed: int = 0
    refused: str = ""


# aiohttp creates sockets in the request's context, but its errors report only the last address.
_dialled: ContextVar[_Dialled] = ContextVar("dialled")


class RefusedAddressError(OSError):
    """The request is about to connect to an address that is not allowed."""


class ThreadResolver(AbstractResolver):
    """Resolves host names for aiohttp with the system's resolver."""

    def __init__(self) -> None:
        self._resolver = SystemResolver(threads=_RESOLVER_THREADS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return all addresses of ``host``."""
        return [
            ResolveResult(
                hostname=host,
                host=found.text,
                port=port,
                family=found.family,
                proto=found.protocol,
                flags=0,
            )
            for found in await self._resolver.look_up(host, port, family)
        ]

    async def close(self) -> None:
        """Cancel queued lookups. Running lookups finish in the background."""
        self._resolver.close()


class HttpSender:
    """Sends requests to all endpoints over one connection pool, opened at first use."""

    def __init__(
        self,
        rules: OutboundRules,
        *,
        timeout_seconds: float,
        resolver: AbstractResolver | None = None,
    ) -> None:
        """``timeout_seconds`` applies to a whole attempt. ``rules`` determine the allowed URLs."""
        self._rules = rules
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        self._resolver = resolver
        # The same few URLs are used repeatedly. The addresses of names are checked each time.
        self._refusal = lru_cache(_ADDRESSES_REMEMBERED)(self._check_url)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, request: SignedRequest) -> SendResult:
        """Send once and return the result. Receivers' errors never raise.

        Within a trace, a ``traceparent`` header is added if the request has none.
        """
        about = {"http.request.method": request.method}
        with traced(request.method, SpanKind.CLIENT, about) as span:
            if span is None:
                return (await self.exchange(request))[0]
            result, _ = await self.exchange(_traced_request(request, span))
            if result.status is not None:
                span.set_attributes({"http.response.status_code": result.status})
            if result.kind is not SendKind.ACCEPTED:
                fail(span, str(result.status or result.kind.value))
            return result

    async def exchange(self, request: SignedRequest) -> tuple[SendResult, ReceiverAnswer | None]:
        """Send once and return the result and, if there is one, the response.

        Receivers' errors never raise.
        """
        if (refusal := self._refusal(request.url)) is not None:
            return refusal, None
        dialled = _Dialled()
        _dialled.set(dialled)
        try:
            return await self._exchange(request)
        except TimeoutError:
            seconds = self._timeout.total
            return _failed(f"No response within {seconds:g} s."), None
        except aiohttp.ClientConnectorError as error:
            return _connection_fault(error, dialled), None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # aiohttp raises ValueError for a response that is not HTTP.
            return _failed(f"The request failed: {type(error).__name__}."), None

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _check_url(self, url: str) -> SendResult | None:
        """Return why requests to a URL are not allowed, or None if they are allowed."""
        try:
            parse_outbound_url(url, self._rules)
        except InvalidInputError as error:
            return SendResult(kind=SendKind.REFUSED, error=f"The URL {error}.")
        return None

    async def _exchange(self, request: SignedRequest) -> tuple[SendResult, ReceiverAnswer]:
        async with self._opened().request(
            request.method,
            _unquoted_url(request.url),
            data=request.body,
            headers=request.headers,
            allow_redirects=False,
        ) as response:
            answer = ReceiverAnswer(response.headers, await _drained(response))
            kind = kind_of_status(response.status)
            result = SendResult(
                kind=kind,
                status=response.status,
                error=None if kind is SendKind.ACCEPTED else f"Received status {response.status}.",
                retry_after_seconds=(
                    self._retry_after(response) if kind is SendKind.FAILED else None
                ),
                location=(
                    response.headers.get("Location") if 300 <= response.status < 400 else None
                ),
            )
            return result, answer

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=_NO_LIMIT,
                keepalive_timeout=_IDLE_SECONDS,
                resolver=self._resolver or ThreadResolver(),
                socket_factory=self._socket,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=self._timeout,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._session

    def _socket(self, address_info: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, proto, _, address = address_info
        try:
            check_outbound_address(ip_address(str(address[0]).partition("%")[0]), self._rules)
        except InvalidInputError as error:
            _dialled.get().refused = str(error)
            raise RefusedAddressError(str(error)) from error
        _dialled.get().allowed += 1
        return socket.socket(family=family, type=kind, proto=proto)

    def _retry_after(self, response: aiohttp.ClientResponse) -> float | None:
        return retry_after_seconds(response.headers.get("Retry-After"), time.time())


def _traced_request(request: SignedRequest, span: Span) -> SignedRequest:
    if any(name.lower() == TRACEPARENT for name in request.headers):
        return request
    return replace(request, headers={**request.headers, TRACEPARENT: trace_of(span).traceparent})


@lru_cache(_ADDRESSES_REMEMBERED)
def _unquoted_url(url: str) -> URL:
    """Return the URL exactly as written: its path may be signed, and this form was checked."""
    return URL(url, encoded=url.isascii())


async def _drained(response: aiohttp.ClientResponse) -> bytes:
    """Return the body. If it is too long or slow, return a part and close the connection.

    A connection is reused only if the body was read to the end. The body never affects the result.
    """
    if response.content.is_eof():
        return bytes(response.content.read_nowait(_MAX_RESPONSE_BYTES))
    read = bytearray()
    try:
        async with asyncio.timeout(_READ_SECONDS):
            while chunk := await response.content.readany():
                read += chunk
                if len(read) > _MAX_RESPONSE_BYTES:
                    break
            else:
                return bytes(read)
    except (TimeoutError, aiohttp.ClientError):
        pass
    response.close()
    return bytes(read)


def retry_after_seconds(text: str | None, now_seconds: float) -> float | None:
    """Return the wait that a Retry-After header requests, or None if the header is invalid.

    **Source:** RFC 9110, section 10.2.3: seconds, or a date.
    """
    if text is None:
        return None
    if text.strip().isascii() and text.strip().isdigit():
        return float(text.strip()[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.fromtimestamp(now_seconds, tz=UTC)).total_seconds())


def _connection_fault(error: aiohttp.ClientConnectorError, dialled: _Dialled) -> SendResult:
    # An allowed address may respond next time.
    if dialled.refused and not dialled.allowed:
        return SendResult(kind=SendKind.REFUSED, error=f"The URL {dialled.refused}.")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _failed("The receiver's certificate is not trusted.")
    if isinstance(error, aiohttp.ClientSSLError):
        return _failed("The TLS handshake failed.")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return _failed("The host name could not be resolved.")
    return _failed("The connection failed.")


def _failed(sentence: str) -> SendResult:
    return SendResult(kind=SendKind.FAILED, error=sentence)
