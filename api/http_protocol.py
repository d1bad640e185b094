"""What is not HTTP at all is refused in the one shape of errors too."""

from http import HTTPStatus
from uuid import uuid4

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.error_handlers import error_response
from api.errors import ApiError, ErrorCode
from api.request_id import HEADER

_SENTENCE = "This is not an HTTP request."


class ApiHttpProtocol(HttpToolsProtocol):
    """uvicorn's own protocol, but for what it says to requests that it cannot parse."""

    def send_400_response(self, msg: str) -> None:
        """Refuse and close; nobody can tell where the next request would begin."""
        self.transport.write(malformed_answer(uuid4().hex))
        self.transport.close()


def malformed_answer(request_id: str) -> bytes:
    """Return the whole answer to what could not be parsed."""
    answer = error_response(ApiError(ErrorCode.INVALID_REQUEST, _SENTENCE), request_id)
    answer.headers[HEADER] = request_id
    answer.headers["Connection"] = "close"
    status = HTTPStatus(answer.status_code)
    head = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    head += [name + b": " + value for name, value in answer.raw_headers]
    return b"\r\n".join((*head, b"", bytes(answer.body)))
