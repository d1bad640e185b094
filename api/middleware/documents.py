"""Documents that are the same for everybody: kept as bytes, compressed once, told apart by tag."""

import gzip
import hashlib
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

_CACHING = "public, max-age=300"
"""Five minutes, after which a cache asks with the tag: a new release has a new one."""


class Document:
    """A document that is sent as it is to whoever asks."""

    def __init__(
        self,
        content: str,
        media_type: str,
        headers: Mapping[str, str] | None = None,
        caching: str = _CACHING,
    ) -> None:
        """``headers`` are its own, beside those of all documents; ``caching`` is Cache-Control."""
        self._plain = content.encode()
        # The bytes are shared by all answers under way: a reader that is slow holds no copy.
        self._compressed = gzip.compress(self._plain, mtime=0)
        # Weak: of both forms it says the same.
        self._tag = f'W/"{hashlib.sha256(self._plain).hexdigest()[:32]}"'
        self._media_type = media_type
        self._headers = {
            **(headers or {}),
            "Cache-Control": caching,
            "ETag": self._tag,
            "Vary": "Accept-Encoding",
        }

    def answer(self, request: Request) -> Response:
        """Return the answer to a request: compressed where that is taken, 304 where it is known."""
        if _names(request.headers.get("if-none-match", ""), self._tag):
            return Response(status_code=304, headers=self._headers)
        if not _takes_gzip(request.headers.get("accept-encoding", "")):
            return Response(self._plain, media_type=self._media_type, headers=self._headers)
        headers = {**self._headers, "Content-Encoding": "gzip"}
        return Response(self._compressed, media_type=self._media_type, headers=headers)


def _names(if_none_match: str, tag: str) -> bool:
    """Tell whether a caller has it already. **Source:** RFC 9110, section 13.1.2."""
    given = {one.strip().removeprefix("W/") for one in if_none_match.split(",")}
    return "*" in given or tag.removeprefix("W/") in given


def _takes_gzip(accept_encoding: str) -> bool:
    """Tell whether gzip is accepted. **Source:** RFC 9110, section 12.5.3."""
    for one in accept_encoding.lower().split(","):
        name, _, weight = one.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "").rstrip("0.") != "q="
    return False
