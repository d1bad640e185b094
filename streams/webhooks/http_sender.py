"""Sends signed requests to addresses that clients name. The only module that knows aiohttp.

The address is judged at the moment of dialling: the socket is made for exactly the address that was
checked, so a name that resolves to something else a moment later gains nothing, and a literal
address does not get past a resolver. Redirects are not followed, proxies of the environment are not
used, cookies are not kept.
"""

import asyncio
import socket
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from contracts.errors import InvalidInputError
from contracts.outbound import OutboundRules, check_outbound_address, parse_outbound_url
from streams.webhooks.schedule import SendKind, SendResult, kind_of_status

_MOST_ANSWER_BYTES = 64 * 1024
_READ_SECONDS = 1.0
# More than may fail at once, at the usual settings: half of webhook_attempts_at_once.
_RESOLVER_THREADS = 512
_REFUSED = "points at a network to which nothing is sent"
# How many there are at once is for the dispatcher to say, for each endpoint.
_NO_LIMIT = 0
_IDLE_SECONDS = 30.0
_ADDRESSES_REMEMBERED = 4096


@dataclass(frozen=True, repr=False)
class SignedRequest:
    """What is sent where. ``headers`` are complete but for what the protocol needs."""

    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class _Dialled:
    """What became of the addresses that one request dialled."""

    allowed: int = 0
    refused: int = 0


# aiohttp makes sockets in the context of the request, and tells of the last address only.
_dialled: ContextVar[_Dialled] = ContextVar("dialled")


class RefusedAddressError(OSError):
    """The address that was about to be dialled is one to which nothing is sent."""


class ThreadResolver(AbstractResolver):
    """The machine's own resolver, in many threads: names that nobody answers for delay no other."""

    def __init__(self) -> None:
        """Start no thread yet."""
        self._threads = ThreadPoolExecutor(_RESOLVER_THREADS, thread_name_prefix="resolver")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return all addresses of ``host``."""
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, _look_up, host, port, family
        )
        return [
            ResolveResult(
                hostname=host, host=str(place[0]), port=port, family=kind, proto=proto, flags=0
            )
            for kind, _, proto, _, place in found
        ]

    async def close(self) -> None:
        """Let running look-ups end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[Any]:
    return socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)


class HttpSender:
    """One pool of connections for all endpoints. Opens at the first use."""

    def __init__(
        self,
        rules: OutboundRules,
        *,
        timeout_seconds: float,
        resolver: AbstractResolver | None = None,
    ) -> None:
        """Take the operator's rules; ``timeout_seconds`` is for all of an attempt."""
        self._rules = rules
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        self._resolver = resolver
        # The same few addresses come again and again; what a name resolves to is judged each time.
        self._judged = lru_cache(_ADDRESSES_REMEMBERED)(self._judge)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, request: SignedRequest) -> SendResult:
        """Send once and tell what came of it. Never raises for anything the receiver does."""
        if (refusal := self._judged(request.url)) is not None:
            return refusal
        dialled = _Dialled()
        _dialled.set(dialled)
        try:
            return await self._post(request)
        except TimeoutError:
            seconds = self._timeout.total
            return _failed(f"No answer within {seconds:g} s.")
        except aiohttp.ClientConnectorError as error:
            return _connection_fault(error, dialled)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # ValueError: what aiohttp makes of an answer that is not HTTP.
            return _failed(f"The exchange failed: {type(error).__name__}.")

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _judge(self, url: str) -> SendResult | None:
        """Return why nothing is sent to an address, None where it may be."""
        try:
            parse_outbound_url(url, self._rules)
        except InvalidInputError as error:
            return SendResult(kind=SendKind.REFUSED, error=f"The address {error}.")
        return None

    async def _post(self, request: SignedRequest) -> SendResult:
        async with self._opened().post(
            _as_given(request.url),
            data=request.body,
            headers=request.headers,
            allow_redirects=False,
        ) as response:
            await _drain(response)
            kind = kind_of_status(response.status)
            return SendResult(
                kind=kind,
                status=response.status,
                error=None if kind is SendKind.ACCEPTED else f"Answered {response.status}.",
                retry_after_seconds=(
                    self._retry_after(response) if kind is SendKind.FAILED else None
                ),
            )

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
            _dialled.get().refused += 1
            raise RefusedAddressError(_REFUSED) from error
        _dialled.get().allowed += 1
        return socket.socket(family=family, type=kind, proto=proto)

    def _retry_after(self, response: aiohttp.ClientResponse) -> float | None:
        return retry_after_seconds(response.headers.get("Retry-After"), time.time())


@lru_cache(_ADDRESSES_REMEMBERED)
def _as_given(url: str) -> URL:
    """Return an address as it was written: receivers sign paths, and it was checked like this."""
    return URL(url, encoded=url.isascii())


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read a short answer to its end, so that the connection can be used again; or hang up.

    The status is all that counts: neither a long nor a slow body changes what it said.
    """
    if response.content.is_eof():
        return
    try:
        async with asyncio.timeout(_READ_SECONDS):
            read = 0
            while chunk := await response.content.readany():
                read += len(chunk)
                if read > _MOST_ANSWER_BYTES:
                    break
            else:
                return
    except (TimeoutError, aiohttp.ClientError):
        pass
    response.close()


def retry_after_seconds(text: str | None, now_seconds: float) -> float | None:
    """Return how long a Retry-After header asks to wait; None where it says nothing sensible.

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
    # Where one address is allowed, it may answer the next time.
    if dialled.refused and not dialled.allowed:
        return SendResult(kind=SendKind.REFUSED, error=f"The address {_REFUSED}.")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _failed("The certificate cannot be trusted.")
    if isinstance(error, aiohttp.ClientSSLError):
        return _failed("No TLS connection could be made.")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return _failed("The host name does not resolve.")
    return _failed("No connection could be made.")


def _failed(sentence: str) -> SendResult:
    return SendResult(kind=SendKind.FAILED, error=sentence)
