"""What is left of a caller's limits, on every answer to a call that counts: refusals included."""

from collections.abc import Mapping

from starlette.types import Scope

_STATE_KEY = "limit_headers"


def tell_limits(scope: Scope, headers: Mapping[str, str]) -> None:
    """Have the answer to a request bear ``headers``, whatever it is."""
    scope["state"][_STATE_KEY] = [
        (name.lower().encode("ascii"), value.encode("ascii")) for name, value in headers.items()
    ]


def limit_headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return the headers that the answer to a request is to bear."""
    found: list[tuple[bytes, bytes]] = scope["state"].get(_STATE_KEY, [])
    return found
