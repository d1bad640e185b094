"""Defines the exceptions of this package."""

from collections.abc import Mapping
from typing import Any

import httpx

from platestream_client.models import FieldError

_UNSAID = "The response is not from a Platestream API."


class PlatestreamError(Exception):
    """Base class of all errors of this package."""


class UnreachableError(PlatestreamError):
    """There was no response: the connection failed or timed out."""


class ApiError(PlatestreamError):
    """The API rejected a call, or failed.

    ``code`` is the machine-readable error code, ``sentence`` is the message for people, and
    ``request_id`` identifies the call in the server's logs.
    """

    def __init__(
        self, status: int, said: Mapping[str, Any], request_id: str, retry_after: float | None
    ) -> None:
        self.status = status
        self.code: str = said.get("code") or "unknown"
        self.sentence: str = said.get("error") or _UNSAID
        self.fields: list[FieldError] = said.get("fields") or []
        self.request_id: str = said.get("requestId") or request_id
        self.retry_after = retry_after
        faults = "".join(f" {fault['path']}: {fault['message']}." for fault in self.fields)
        super().__init__(f"{status} {self.code}: {self.sentence}{faults}")


class StreamGapError(PlatestreamError):
    """The stream was interrupted for too long: recognitions since ``since`` may be missing.

    Search for the missing recognitions; see ``Recognitions.stream``.
    """

    def __init__(self, since: str) -> None:
        self.since = since
        super().__init__(
            f"The stream could not replay everything since {since}; search for the missing "
            "recognitions."
        )


def error_of(answer: httpx.Response) -> ApiError:
    """Return the error in an unsuccessful response whose body has been read."""
    try:
        said = answer.json()
    except ValueError:
        said = None
    return ApiError(
        answer.status_code,
        said if isinstance(said, dict) else {},
        answer.headers.get("X-Request-Id", ""),
        _seconds(answer.headers.get("Retry-After", "")),
    )


def _seconds(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() else None
