"""uvicorn's HTTP, corrected where clients would stumble over it or could abuse it.

Bytes that are not HTTP are refused in the one shape of errors too. A request that offers to go on
in another protocol (Java's HttpClient offers HTTP/2 with each) is answered as if it did not. The
head of a request, which comes before any credential, may be neither endless nor slow. Connections
are bounded in number, and those that take nothing of their answers in time.
"""

import asyncio
from http import HTTPStatus
from typing import cast
from uuid import uuid4

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.errors import ApiError, ErrorCode
from api.middleware.connections import ConnectionLimits, WatchedTransport, limit_system_buffer
from api.middleware.error_handlers import error_response
from api.middleware.request_state import HEADER

MAX_HEAD_BYTES = 64 << 10
"""Request line and headers. Servers and proxies take 8 to 64 KiB."""

HEAD_SECONDS = 20.0
"""The time for a head, from the connection or its own first byte."""

_STEP_BYTES = 16 << 10
_NO_HTTP = "This is not an HTTP request."
_LONG_HEAD = f"The request line and headers must not exceed {MAX_HEAD_BYTES} bytes."


class ApiHttpProtocol(HttpToolsProtocol):
    """uvicorn's own protocol with our answer to what is not HTTP; ``Upgrade`` is ignored."""

    _bare_bytes = 0
    """That came since the last head, body or end of one: of a head, of trailers, of nothing."""
    _is_in_head = True
    _head_ends: asyncio.TimerHandle | None = None
    _limits = ConnectionLimits(0, 0)
    _peer: str | None = None
    """The address that this connection is counted by, None where it found no room."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head, where there is room for one more connection."""
        limit_system_buffer(transport)
        self._watched = WatchedTransport(transport, self.loop)
        super().connection_made(cast(asyncio.Transport, self._watched))
        peer = self.client[0] if self.client else ""
        if self._limits.admit(peer):
            self._peer = peer
            self._expect_head()
        else:
            self._answer_and_close(ApiError(ErrorCode.SERVICE_BUSY, retry_after_seconds=1))

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_expecting()
        self._watched.end()
        if self._peer is not None:
            self._limits.release(self._peer)
            self._peer = None
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Wait for the end of this head."""
        super().on_message_begin()
        self._is_in_head, self._bare_bytes = True, 0
        if self._head_ends is None:
            self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header; trailers say nothing here."""
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Go on to the body."""
        self._is_in_head, self._bare_bytes = False, 0
        self._watched.expects_more = True
        self._stop_expecting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass on a piece of the body, which the application bounds."""
        self._bare_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Go on to the next request."""
        self._bare_bytes = 0
        self._watched.expects_more = False
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Parse what has come."""
        if self._watched.is_lingering:
            return
        self._unset_keepalive_if_required()
        # A head is taken in small steps, so that none is far too long before that is seen.
        while self._is_in_head and len(data) > _STEP_BYTES and not self.transport.is_closing():
            self._take(data[:_STEP_BYTES])
            data = data[_STEP_BYTES:]
        if not self.transport.is_closing():
            self._take(data)

    def send_400_response(self, msg: str) -> None:
        """Refuse and close; nobody can tell where the next request would begin."""
        self._refuse(_NO_HTTP)

    def _take(self, data: bytes) -> None:
        self._bare_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.send_400_response(str(error))
        except httptools.HttpParserUpgrade as offer:
            self._decline(rest=data[offer.args[0] :])
        else:
            if self._bare_bytes > MAX_HEAD_BYTES:
                self._refuse(_LONG_HEAD)
            elif self._head_ends is None and not self._is_answering:
                # What has come ended the wait for the next request, and began none.
                self._expect_head()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_head(self) -> None:
        self._head_ends = self.loop.call_later(HEAD_SECONDS, self._end_of_head_wait)

    def _end_of_head_wait(self) -> None:
        if self._is_answering:
            # Behind an answer under way, the rest of a head may wait to be read.
            self._expect_head()
        else:
            self.transport.close()

    def _stop_expecting(self) -> None:
        if self._head_ends is not None:
            self._head_ends.cancel()
            self._head_ends = None

    def _refuse(self, sentence: str) -> None:
        self._answer_and_close(ApiError(ErrorCode.INVALID_REQUEST, sentence))

    def _answer_and_close(self, error: ApiError) -> None:
        self.transport.write(closing_answer(error, uuid4().hex))
        self.transport.close()

    def _should_upgrade(self) -> bool:
        # Has uvicorn do nothing with the head of an offer until it comes again without it.
        return True

    def _decline(self, *, rest: bytes) -> None:
        """Parse a request again without its offer: the parser took its body for the new protocol.

        **Source:** RFC 9110, section 7.8: a server may ignore Upgrade.
        """
        method = self.parser.get_method()
        if method == b"CONNECT":
            self.send_400_response("proxy requests are not supported")
            return
        version = self.parser.get_http_version().encode("ascii")
        kept = [(name, value) for name, value in self.headers if name != b"upgrade"]
        head = [b"%s %s HTTP/%s" % (method, self.url, version)]
        head += [name + b": " + value for name, value in kept]
        self.parser = httptools.HttpRequestParser(self)
        # As uvicorn sets up its own.
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.data_received(b"\r\n".join((*head, b"", rest)))


def http_protocol(limits: ConnectionLimits) -> type[ApiHttpProtocol]:
    """Return the protocol of a server whose connections are limited."""

    class LimitedHttpProtocol(ApiHttpProtocol):
        _limits = limits

    return LimitedHttpProtocol


def closing_answer(error: ApiError, request_id: str) -> bytes:
    """Return the whole answer to what no application is asked about."""
    answer = error_response(error, request_id)
    answer.headers[HEADER] = request_id
    answer.headers["Connection"] = "close"
    status = HTTPStatus(answer.status_code)
    head = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    head += [name + b": " + value for name, value in answer.raw_headers]
    return b"\r\n".join((*head, b"", bytes(answer.body)))
