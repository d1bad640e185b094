"""Proves to HTTP and RTSP cameras that the password is known.

**Source:** RFC 7616 (Digest), RFC 7617 (Basic), RFC 2326, section 14 (both in RTSP).
"""

import hashlib
import re
import secrets
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

_HASHES: Final = {"MD5": "md5", "SHA-256": "sha256", "SHA-512-256": "sha512_256"}
"""Supported algorithms, weakest first, with the names that OpenSSL uses."""

_BASIC: Final = "BASIC"
_KINDS: Final = (_BASIC, *_HASHES)
_CHALLENGE: Final = re.compile(r"(?:^|,)\s*(Basic|Digest)\s", re.IGNORECASE)
_PARAMETER: Final = re.compile(r'([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')


class Login:
    """A user name and password, and the latest challenge of the camera."""

    def __init__(
        self, user: str | None, password: str = "", *, sends_password: bool = True
    ) -> None:
        """Create a login. If ``user`` is None, there is no password to prove.

        ``sends_password``: whether Basic is allowed, not only Digest.
        """
        self._user = user
        self._kinds = _KINDS if sends_password else tuple(_HASHES)
        self._password = password
        self._challenge: dict[str, str] = {}
        self._count = 0

    def challenged(self, texts: Iterable[str]) -> bool:
        """Choose the strongest challenge among the values of WWW-Authenticate fields.

        Return whether there is one that this login can answer.
        """
        found = [
            each for text in texts for each in _challenges(text) if each["kind"] in self._kinds
        ]
        if self._user is None or not found:
            return False
        self._challenge = max(found, key=lambda each: _KINDS.index(each["kind"]))
        self._count = 0
        return True

    def authorization(self, method: str, uri: str) -> bytes | None:
        """Return the value of a request's Authorization field, or None before a challenge."""
        if not self._challenge or self._user is None:
            return None
        if self._challenge["kind"] == _BASIC:
            return b"Basic " + b64encode(f"{self._user}:{self._password}".encode())
        self._count += 1
        return self._digest(self._user, method, uri).encode()

    def _digest(self, user: str, method: str, uri: str) -> str:
        given = self._challenge
        realm, nonce, algorithm = (given.get(key, "") for key in ("realm", "nonce", "algorithm"))
        cnonce, count = secrets.token_hex(8), f"{self._count:08x}"

        def digest(*parts: str) -> str:
            data = ":".join(parts).encode()
            return hashlib.new(_HASHES[given["kind"]], data, usedforsecurity=False).hexdigest()

        key = digest(user, realm, self._password)
        if algorithm.upper().endswith("-SESS"):
            key = digest(key, nonce, cnonce)
        has_quality = "auth" in re.split(r"[\s,]+", given.get("qop", ""))
        quality = (count, cnonce, "auth") if has_quality else ()
        user = re.sub(r'(["\\])', r"\\\1", user)
        response = digest(key, nonce, *quality, digest(method, uri))
        text = (
            f'Digest username="{user}", realm="{realm}", nonce="{nonce}", uri="{uri}", '
            f'response="{response}"'
        )
        if algorithm:
            text += f", algorithm={algorithm}"
        if "opaque" in given:
            text += f', opaque="{given["opaque"]}"'
        return text + (f', qop=auth, nc={count}, cnonce="{cnonce}"' if has_quality else "")


def split_login(url: str, *, sends_password: bool = True) -> tuple[str, Login]:
    """Return a URL without user and password, and the login with them (:class:`Login`)."""
    parts = urlsplit(url)
    user_info, _, host = parts.netloc.rpartition("@")
    bare = urlunsplit((parts.scheme, host, parts.path or "/", parts.query, ""))
    if not user_info:
        return bare, Login(None)
    user, _, password = user_info.partition(":")
    return bare, Login(unquote(user), unquote(password), sends_password=sends_password)


def _challenges(text: str) -> Iterator[dict[str, str]]:
    """Yield the parameters of each challenge, with the kind (see ``_KINDS``)."""
    pieces = _CHALLENGE.split(" ".join(text.split()))
    for scheme, rest in zip(pieces[1::2], pieces[2::2], strict=True):
        given = {key.lower(): quoted or word for key, quoted, word in _PARAMETER.findall(rest)}
        algorithm = given.get("algorithm", "MD5").upper().removesuffix("-SESS")
        yield {**given, "kind": _BASIC if scheme.upper() == _BASIC else algorithm}
