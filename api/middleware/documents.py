"""Serves static documents from memory, compressed and with an ETag."""

import gzip
import hashlib
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

_CACHING = "public, max-age=300"
"""Caches revalidate a document after five minutes. The ETag changes with the content."""


class Document:
    """A static document."""

    def __init__(
        self,
        content: str,
        media_type: str,
        headers: Mapping[str, str] | None = None,
        caching: str = _CACHING,
    ) -> None:
        """``headers`` are sent with the common headers. ``caching`` is the Cache-Control header."""
        self._plain = content.encode()
        # All responses share these bytes, so slow clients need no copies.
        self._compressed = gzip.compress(self._plain, mtime=0)
        # The ETag is weak, because it is the same for the plain and the compressed form.
        self._tag = f'W/"{hashlib.sha256(self._plain).hexdigest()[:32]}"'
        self._media_type = media_type
        self._headers = {
            **(headers or {}),
            "Cache-Control": caching,
            "ETag": self._tag,
            "Vary": "Accept-Encoding",
        }

    def answer(self, request: Request) -> Response:
        """Return the response: compressed if gzip is accepted, 304 if the client has the tag."""
        if _names(request.headers.get("if-none-match", ""), self._tag):
            return Response(status_code=304, headers=self._headers)
        if not _takes_gzip(request.headers.get("accept-encoding", "")):
            return Response(self._plain, media_type=self._media_type, headers=self._headers)
        headers = {**self._headers, "Content-Encoding": "gzip"}
        return Response(self._compressed, media_type=self._media_type, headers=headers)


def _names(if_none_match: str, tag: str) -> bool:
    """Return whether the header contains the tag. **Source:** RFC 9110, section 13.1.2."""
    given = {one.strip().removeprefix("W/") for one in if_none_match.split(",")}
    return "*" in given or tag.removeprefix("W/") in given


def _takes_gzip(accept_encoding: str) -> bool:
    """Return whether gzip is accepted. **Source:** RFC 9110, section 12.5.3."""
    for one in accept_encoding.lower().split(","):
        name, _, weight = one.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "").rstrip("0.") != "q="
    return False
