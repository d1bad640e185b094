"""Stores the request ID and the rate limit headers in the ASGI scope."""

import re
import uuid
from collections.abc import Mapping

from starlette.requests import HTTPConnection
from starlette.types import Scope

HEADER = "X-Request-Id"
_HEADER_KEY = HEADER.lower().encode()
_SANE = re.compile(r"[A-Za-z0-9._:-]{1,128}\Z", re.ASCII)
_ID_KEY = "request_id"
_OWN_ID_KEY = "request_id_is_ours"
_LIMITS_KEY = "limit_headers"


def give_request_id(scope: Scope) -> str:
    """Store and return the request ID: the caller's ID if it is valid, else a new ID."""
    given = _given(scope)
    request_id = given or uuid.uuid4().hex
    state = scope.setdefault("state", {})
    state[_ID_KEY], state[_OWN_ID_KEY] = request_id, given is None
    return request_id


def is_own_request_id(scope: Scope) -> bool:
    """Return whether the request ID was generated here. A caller's ID can contain private data."""
    return bool(scope["state"][_OWN_ID_KEY])


def request_id_of(connection: HTTPConnection) -> str:
    """Return the request ID, which is sent in the response header ``X-Request-Id``."""
    return str(connection.scope.get("state", {}).get(_ID_KEY, ""))


def _given(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == _HEADER_KEY:
            text: str = value.decode("latin-1")
            return text if _SANE.match(text) else None
    return None


def set_limit_headers(scope: Scope, headers: Mapping[str, str]) -> None:
    """Set headers for the response to a request, whatever its status."""
    scope["state"][_LIMITS_KEY] = [
        (name.lower().encode("ascii"), value.encode("ascii")) for name, value in headers.items()
    ]


def limit_headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return the headers that :func:`set_limit_headers` has set."""
    found: list[tuple[bytes, bytes]] = scope["state"].get(_LIMITS_KEY, [])
    return found
