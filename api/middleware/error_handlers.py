"""Converts exceptions to error responses."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from api.errors import (
    UNION_TAG_PREFIX,
    ApiError,
    BodyRefusedError,
    ErrorCode,
    FieldFault,
    dependency_error,
    known_code,
)
from api.middleware.request_state import request_id_of
from api.security.permissions import permissions_in
from common.errors import InvalidInputError, TransientError

log = structlog.get_logger()

_BY_STATUS = {
    400: ErrorCode.INVALID_JSON,
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.METHOD_NOT_ALLOWED,
    415: ErrorCode.UNSUPPORTED_MEDIA_TYPE,
}
MAX_FAULTS = 2000
"""Maximum number of faults in a response: a body of 1 MB can have a hundred thousand."""

_OTHER_WORD = "Resource not found. Alerts are at /api/alertas."
_OWN = "Value error, "
_ENUM_MEMBER = re.compile(r"<\w+\.\w+: ('[^']*')>")
_Context = Mapping[str, Any]
_LOCATIONS = frozenset({"query", "path", "header", "cookie", "body"})


def install_error_handlers(app: FastAPI) -> None:
    """Register handlers that return every error of ``app`` in the common format."""
    app.add_exception_handler(ApiError, _on_api_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(InvalidInputError, _on_invalid_input)
    app.add_exception_handler(TransientError, _on_transient)


def error_response(error: ApiError, request_id: str) -> JSONResponse:
    """Return the response for ``error``."""
    body: dict[str, Any] = {"error": str(error), "code": error.code, "requestId": request_id}
    headers = dict(error.headers)
    if error.fields:
        body["fields"] = [{"path": f.path, "message": f.message} for f in error.fields]
    if error.retry_after_seconds is not None:
        body["retryAfter"] = error.retry_after_seconds
        headers["Retry-After"] = str(error.retry_after_seconds)
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body, status_code=error.status, headers=headers)


def validation_faults(errors: Sequence[Mapping[str, Any]]) -> tuple[FieldFault, ...]:
    """Return pydantic's errors as faults of request fields, at most :data:`MAX_FAULTS`."""
    return tuple(FieldFault(_path(fault["loc"]), _message(fault)) for fault in errors[:MAX_FAULTS])


def _path(location: Sequence[str | int]) -> str:
    parts = location[1:] if location and location[0] in _LOCATIONS else location
    return ".".join(str(part) for part in parts if not _is_marker(part)) or "body"


def _is_marker(part: str | int) -> bool:
    """Return whether pydantic inserted ``part`` (for a dictionary key or a union member)."""
    return part == "[key]" or (isinstance(part, str) and part.startswith(UNION_TAG_PREFIX))


async def _on_api_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ApiError)
    return error_response(error, request_id_of(request))


async def _on_validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    faults = error.errors()
    if any(fault["type"] == "json_invalid" for fault in faults):
        answer = ApiError(ErrorCode.INVALID_JSON)
    else:
        answer = ApiError(ErrorCode.INVALID_REQUEST, fields=validation_faults(faults))
    return error_response(answer, request_id_of(request))


async def _on_http_exception(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, BodyRefusedError):
        return error_response(error.answer, request_id_of(request))
    assert isinstance(error, HTTPException)
    code = _BY_STATUS.get(error.status_code, ErrorCode.INTERNAL_ERROR)
    headers = dict(error.headers or {})
    if code is ErrorCode.METHOD_NOT_ALLOWED:
        # Starlette lists only the methods of the first route with this path.
        allowed = permissions_in(request.scope).allowed_methods(request.url.path)
        headers = {"Allow": ", ".join(allowed)}
    sentence = _OTHER_WORD if code is ErrorCode.NOT_FOUND and _is_other_word(request) else None
    return error_response(ApiError(code, sentence, headers=headers), request_id_of(request))


def _is_other_word(request: Request) -> bool:
    path = request.url.path
    return path == "/api/alerts" or path.startswith("/api/alerts/")


async def _on_invalid_input(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, InvalidInputError)
    code = known_code(error.code) or ErrorCode.INVALID_REQUEST
    return error_response(ApiError(code, str(error)), request_id_of(request))


async def _on_transient(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TransientError)
    log.warning("dependency_unavailable", error=str(error), cause=repr(error.__cause__))
    return error_response(dependency_error(error), request_id_of(request))


def _message(fault: Mapping[str, Any]) -> str:
    """Return the message for a pydantic error. The message continues the field's name."""
    say = _SENTENCES.get(fault["type"])
    if say is None:
        return str(fault["msg"]).removeprefix(_OWN)
    return say({"input": fault.get("input"), **fault.get("ctx", {})})


def _just(sentence: str) -> Callable[[_Context], str]:
    return lambda _: sentence


def _one_of(context: _Context) -> str:
    return "must be one of " + _ENUM_MEMBER.sub(r"\1", str(context["expected"]))


def _too_long(context: _Context) -> str:
    things = "characters" if isinstance(context["input"], str) else "entries"
    return f"must have at most {context['max_length']} {things}"


def _too_short(context: _Context) -> str:
    things = "character" if isinstance(context["input"], str) else "entry"
    minimum = context["min_length"]
    if minimum > 1:
        things = {"character": "characters", "entry": "entries"}[things]
    return f"must have at least {minimum} {things}"


_OBJECT = _just("must be an object")
_SENTENCES: Mapping[str, Callable[[_Context], str]] = {
    "missing": _just("is required"),
    "extra_forbidden": _just("is not a known field"),
    "string_type": _just("must be a string"),
    "list_type": _just("must be an array"),
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "bool_parsing": _just("must be true or false"),
    "int_from_float": _just("must be an integer"),
    "less_than_equal": lambda context: f"must be at most {context['le']:g}",
    "greater_than_equal": lambda context: f"must be at least {context['ge']:g}",
    "enum": _one_of,
    "literal_error": _one_of,
    "too_long": _too_long,
    "string_too_long": _too_long,
    "too_short": _too_short,
    "string_too_short": _too_short,
    "string_pattern_mismatch": lambda context: f"must match the pattern {context['pattern']}",
}
"""Messages by type of error. **Source:** pydantic's manual, "Validation Errors"."""
