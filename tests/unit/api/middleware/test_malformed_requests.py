"""The response to malformed HTTP has the format of all other errors."""

import json

from api.errors import ApiError, ErrorCode
from api.middleware.http_protocol import closing_answer


def test_the_answer_is_whole_and_in_the_one_shape() -> None:
    error = ApiError(ErrorCode.INVALID_REQUEST, "This is not HTTP.")
    head, _, body = closing_answer(error, "an-id").partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    headers = dict(line.split(b": ", 1) for line in lines)

    assert status == b"HTTP/1.1 400 Bad Request"
    assert headers[b"content-length"] == str(len(body)).encode()
    assert headers[b"content-type"] == b"application/json"
    assert (headers[b"connection"], headers[b"x-request-id"]) == (b"close", b"an-id")
    assert set(json.loads(body)) == {"error", "code", "requestId"}
