"""Extends uvicorn's HTTP protocol with stricter limits and consistent errors.

Data that is not HTTP is rejected in the common error format. ``Upgrade`` is ignored, because Java's
HttpClient offers HTTP/2 with every request. The size and time of a request's head are limited,
because a head is read before any credential. The number of connections and the time that a client
can leave a response unread are also limited.
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
"""Maximum size of request line and headers. Other servers and proxies accept 8 to 64 KiB."""

HEAD_SECONDS = 20.0
"""Time limit for a head, from the start of the connection or from the head's first byte."""

_STEP_BYTES = 16 << 10
_NO_HTTP = "This is not an HTTP request."
_LONG_HEAD = f"The request line and headers must not exceed {MAX_HEAD_BYTES} bytes."


class ApiHttpProtocol(HttpToolsProtocol):
    """The protocol of one connection."""

    _bare_bytes = 0
    """Bytes of a head or of trailers since the last head, body chunk or end of a body."""
    _is_in_head = True
    _head_ends: asyncio.TimerHandle | None = None
    _limits = ConnectionLimits(0, 0)
    _peer: str | None = None
    """Address for which this connection is counted, or None if the connection was rejected."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head, or reject the connection if too many are open."""
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
        """Cancel the timers and stop counting the connection."""
        self._stop_expecting()
        self._watched.end()
        if self._peer is not None:
            self._limits.release(self._peer)
            self._peer = None
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Start the time limit of this head."""
        super().on_message_begin()
        self._is_in_head, self._bare_bytes = True, 0
        if self._head_ends is None:
            self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header. Ignore trailers."""
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start reading the body."""
        self._is_in_head, self._bare_bytes = False, 0
        self._watched.expects_more = True
        self._stop_expecting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass on a chunk of the body, whose size the application limits."""
        self._bare_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop expecting data: the request is complete."""
        self._bare_bytes = 0
        self._watched.expects_more = False
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Parse received data."""
        if self._watched.is_lingering:
            return
        self._unset_keepalive_if_required()
        # A head is parsed in small steps, so that an overlong head is detected early.
        while self._is_in_head and len(data) > _STEP_BYTES and not self.transport.is_closing():
            self._take(data[:_STEP_BYTES])
            data = data[_STEP_BYTES:]
        if not self.transport.is_closing():
            self._take(data)

    def send_400_response(self, msg: str) -> None:
        """Reject the request and close the connection, as the next request cannot be found."""
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
                # The data ended the wait for the next request but did not start one.
                self._expect_head()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_head(self) -> None:
        self._head_ends = self.loop.call_later(HEAD_SECONDS, self._end_of_head_wait)

    def _end_of_head_wait(self) -> None:
        if self._is_answering:
            # While a response is being sent, the rest of a head may still have to be read.
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
        # If True, uvicorn ignores a head with Upgrade, and `_decline` parses the head again.
        return True

    def _decline(self, *, rest: bytes) -> None:
        """Parse a request again without Upgrade, because its body was not read as HTTP.

        **Source:** RFC 9110, section 7.8: a server may ignore Upgrade.
        """
        method = self.parser.get_method()
        if method == b"CONNECT":
            self.send_400_response("proxy requests are not supported")
            return
        version = self.parser.get_http_version().encode("ascii")
        headers = [(name, value) for name, value in self.headers if name != b"upgrade"]
        head = [b"%s %s HTTP/%s" % (method, self.url, version)]
        head += [name + b": " + value for name, value in headers]
        self.parser = httptools.HttpRequestParser(self)
        # uvicorn sets the same option.
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.data_received(b"\r\n".join((*head, b"", rest)))


def http_protocol(limits: ConnectionLimits) -> type[ApiHttpProtocol]:
    """Return the protocol class of a server with these limits."""

    class LimitedHttpProtocol(ApiHttpProtocol):
        _limits = limits

    return LimitedHttpProtocol


def closing_answer(error: ApiError, request_id: str) -> bytes:
    """Return the complete HTTP response for an error outside the application."""
    answer = error_response(error, request_id)
    answer.headers[HEADER] = request_id
    answer.headers["Connection"] = "close"
    status = HTTPStatus(answer.status_code)
    head = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    head += [name + b": " + value for name, value in answer.raw_headers]
    return b"\r\n".join((*head, b"", bytes(answer.body)))
