"""Public documents are compressed, and not sent again to clients that have them cached."""

import gzip

import pytest
from starlette.requests import Request
from starlette.responses import Response

from api.middleware.documents import Document

TEXT = "grüße " * 1_000
DOCUMENT = Document(TEXT, "text/plain", {"X-Own": "1"})


def _answer(document: Document = DOCUMENT, **headers: str) -> Response:
    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return document.answer(Request({"type": "http", "headers": given}))


@pytest.mark.parametrize("accepted", ["gzip", "br, GZIP;q=0.5", "deflate, gzip; q=1.0"])
def test_it_is_compressed_for_who_takes_that(accepted: str) -> None:
    answer = _answer(accept_encoding=accepted)

    assert answer.headers["content-encoding"] == "gzip"
    assert len(answer.body) < len(TEXT) / 10
    assert gzip.decompress(bytes(answer.body)).decode() == TEXT
    assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize("accepted", ["", "identity", "br", "gzip;q=0", "gzip; q=0.000"])
def test_it_is_plain_for_others(accepted: str) -> None:
    answer = _answer(accept_encoding=accepted)

    assert bytes(answer.body).decode() == TEXT
    assert "content-encoding" not in answer.headers
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert answer.headers["x-own"] == "1"


def test_who_has_it_gets_it_not_again() -> None:
    tag = _answer().headers["etag"]
    for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
        answer = _answer(if_none_match=known)
        assert (answer.status_code, answer.body) == (304, b"")
        assert (answer.headers["etag"], answer.headers["x-own"]) == (tag, "1")
    assert _answer(if_none_match='"other"').status_code == 200


def test_another_content_has_another_tag() -> None:
    other = Document(TEXT + ".", "text/plain")
    assert _answer(other).headers["etag"] != _answer().headers["etag"]
