"""How a route declares the errors that it may answer with, for the OpenAPI description."""

from collections import defaultdict
from typing import Any

from pydantic import Field

from api.errors import ERROR_RULES, ErrorCode
from api.schemas import ResponseModel

_EVERYWHERE = (
    ErrorCode.MISSING_CREDENTIALS,
    ErrorCode.INVALID_CREDENTIALS,
    ErrorCode.EXPIRED_CREDENTIALS,
    ErrorCode.MISSING_SCOPE,
    ErrorCode.CROSS_SITE_REQUEST,
    ErrorCode.RATE_LIMITED,
    ErrorCode.TEMPORARILY_BLOCKED,
    ErrorCode.INTERNAL_ERROR,
    ErrorCode.DEPENDENCY_UNAVAILABLE,
)
BODY_ERRORS = (
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_JSON,
    ErrorCode.INCOMPLETE_BODY,
    ErrorCode.BODY_TOO_LARGE,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
)
"""What a call with a JSON body may answer with."""

_EXAMPLE_REQUEST_ID = "0b1f7c5e9a9d4c7f8f1f2a6d5c3b4e21"
_NUMBER = {"schema": {"type": "integer", "minimum": 0}}
LIMIT_HEADERS: dict[str, Any] = {
    "RateLimit-Limit": _NUMBER | {"description": "Requests allowed in a minute."},
    "RateLimit-Remaining": _NUMBER | {"description": "Requests left in this minute."},
    "RateLimit-Reset": _NUMBER | {"description": "Seconds until requests are free again."},
}
"""What the answer to every call that counts in a limit bears."""

_HEADERS: dict[int, dict[str, Any]] = {
    401: {"WWW-Authenticate": {"schema": {"type": "string"}, "description": "Bearer"}},
    429: {
        "Retry-After": _NUMBER | {"description": "Seconds until a request may pass again."},
        **LIMIT_HEADERS,
    },
}


class FieldFaultBody(ResponseModel):
    """What is wrong with one parameter or body field."""

    path: str = Field(examples=["limit"])
    message: str = Field(examples=["must be at most 200"])


class ErrorBody(ResponseModel):
    """Every answer that is not a success, whatever its status."""

    error: str = Field(description="A sentence for a person.")
    code: ErrorCode = Field(description="A stable word for programs.")
    request_id: str = Field(description="As in the header X-Request-Id.")
    fields: list[FieldFaultBody] = Field(default=[], description="Only where fields are at fault.")
    retry_after: int = Field(default=0, description="Seconds to wait; only with 429.")


def errors(*codes: ErrorCode) -> dict[int | str, dict[str, Any]]:
    """Return FastAPI's ``responses`` for ``codes`` and for those that every call may give."""
    by_status: dict[int, list[ErrorCode]] = defaultdict(list)
    for code in (*codes, *_EVERYWHERE):
        by_status[ERROR_RULES[code].status].append(code)
    return {status: _response(status, of_status) for status, of_status in by_status.items()}


def _response(status: int, codes: list[ErrorCode]) -> dict[str, Any]:
    return {
        "model": ErrorBody,
        "description": " ".join(ERROR_RULES[code].sentence for code in codes),
        "headers": _HEADERS.get(status, {}),
        "content": {
            "application/json": {"examples": {str(code): _example(code) for code in codes}}
        },
    }


def _example(code: ErrorCode) -> dict[str, Any]:
    body: dict[str, Any] = {
        "error": ERROR_RULES[code].sentence,
        "code": str(code),
        "requestId": _EXAMPLE_REQUEST_ID,
    }
    if code is ErrorCode.INVALID_REQUEST:
        message = "must be at most 200"
        body["fields"] = [{"path": "limit", "message": message}]
    if ERROR_RULES[code].status == 429:
        body["retryAfter"] = 12
    return {"value": body}
