"""HTTP as uvicorn speaks it, but for two things that clients would stumble over.

What is not HTTP at all is refused in the one shape of errors too. A request that offers to go on in
another protocol (Java's HttpClient offers HTTP/2 with each) is answered as if it did not.
"""

from http import HTTPStatus
from uuid import uuid4

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.error_handlers import error_response
from api.errors import ApiError, ErrorCode
from api.request_id import HEADER

_SENTENCE = "This is not an HTTP request."


class ApiHttpProtocol(HttpToolsProtocol):
    """uvicorn's own protocol, with another word for what is not HTTP, and deaf to ``Upgrade``."""

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.send_400_response(str(error))
        except httptools.HttpParserUpgrade as offer:
            self._decline(rest=data[offer.args[0] :])

    def send_400_response(self, msg: str) -> None:
        """Refuse and close; nobody can tell where the next request would begin."""
        self.transport.write(malformed_answer(uuid4().hex))
        self.transport.close()

    def _should_upgrade(self) -> bool:
        # Has uvicorn do nothing with the head of an offer until it comes again without it.
        return True

    def _decline(self, *, rest: bytes) -> None:
        """Read a request anew without its offer: the parser took its body for the new protocol.

        **Source:** RFC 9110, section 7.8: a server may ignore Upgrade.
        """
        method = self.parser.get_method()
        if method == b"CONNECT":
            self.send_400_response("a proxy was asked for")
            return
        version = self.parser.get_http_version().encode("ascii")
        kept = [(name, value) for name, value in self.headers if name != b"upgrade"]
        head = [b"%s %s HTTP/%s" % (method, self.url, version)]
        head += [name + b": " + value for name, value in kept]
        self.parser = httptools.HttpRequestParser(self)
        # As uvicorn sets up its own.
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.data_received(b"\r\n".join((*head, b"", rest)))


def malformed_answer(request_id: str) -> bytes:
    """Return the whole answer to what could not be parsed."""
    answer = error_response(ApiError(ErrorCode.INVALID_REQUEST, _SENTENCE), request_id)
    answer.headers[HEADER] = request_id
    answer.headers["Connection"] = "close"
    status = HTTPStatus(answer.status_code)
    head = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    head += [name + b": " + value for name, value in answer.raw_headers]
    return b"\r\n".join((*head, b"", bytes(answer.body)))
