"""The id that a request goes by in answers and logs."""

import re
import uuid

from starlette.requests import HTTPConnection
from starlette.types import Scope

HEADER = "X-Request-Id"
_HEADER_KEY = HEADER.lower().encode()
_SANE = re.compile(r"[A-Za-z0-9._:-]{1,128}\Z", re.ASCII)
_STATE_KEY = "request_id"


def give_request_id(scope: Scope) -> str:
    """Note and return the request's id: the caller's own if it is sane, else a new one."""
    request_id = _given(scope) or uuid.uuid4().hex
    scope.setdefault("state", {})[_STATE_KEY] = request_id
    return request_id


def request_id_of(connection: HTTPConnection) -> str:
    """Return the id of the request, as the answer's ``X-Request-Id`` names it."""
    return str(connection.scope.get("state", {}).get(_STATE_KEY, ""))


def _given(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == _HEADER_KEY:
            text: str = value.decode("latin-1")
            return text if _SANE.match(text) else None
    return None
