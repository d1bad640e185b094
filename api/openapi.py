"""Generates the OpenAPI 3.1 description with FastAPI, and adds access rules and errors."""

import json
from collections import defaultdict
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from pydantic import Field
from starlette.responses import Response

from api.errors import ErrorCode
from api.event_schemas import event_description, show_payloads
from api.middleware.bodies import MAX_IMAGE_BYTES, MAX_TABLE_BYTES
from api.middleware.documents import Document
from api.middleware.guard import GuardedRoute
from api.schemas import ResponseModel
from api.security.permissions import (
    SESSION_COOKIE,
    Access,
    Administrator,
    AnyCaller,
    BodyKind,
    OwnSession,
    Public,
    permissions_of,
    requires,
)

_EVERYWHERE = (
    ErrorCode.INVALID_REQUEST,
    ErrorCode.MISSING_CREDENTIALS,
    ErrorCode.INVALID_CREDENTIALS,
    ErrorCode.EXPIRED_CREDENTIALS,
    ErrorCode.MISSING_SCOPE,
    ErrorCode.CROSS_SITE_REQUEST,
    ErrorCode.RATE_LIMITED,
    ErrorCode.TEMPORARILY_BLOCKED,
    ErrorCode.INTERNAL_ERROR,
    ErrorCode.DEPENDENCY_UNAVAILABLE,
    ErrorCode.SERVICE_BUSY,
)
BODY_ERRORS = (
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_JSON,
    ErrorCode.INCOMPLETE_BODY,
    ErrorCode.BODY_TOO_LARGE,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
)
"""The errors that every call with a JSON body can return."""

_EXAMPLE_REQUEST_ID = "0b1f7c5e9a9d4c7f8f1f2a6d5c3b4e21"
_NUMBER = {"schema": {"type": "integer", "minimum": 0}}
LIMIT_HEADERS: dict[str, Any] = {
    "RateLimit-Limit": _NUMBER | {"description": "Requests allowed per minute."},
    "RateLimit-Remaining": _NUMBER | {"description": "Requests remaining in the current minute."},
    "RateLimit-Reset": _NUMBER | {"description": "Seconds until further requests are allowed."},
}
"""The headers of every response to a rate-limited call."""

_HEADERS: dict[int, tuple[str, ...]] = {
    401: ("WWW-Authenticate",),
    429: ("Retry-After", *LIMIT_HEADERS),
    503: ("Retry-After",),
}


class FieldError(ResponseModel):
    """A validation error in one parameter or body field."""

    path: str = Field(description="Parameter name, or path of the body field.", examples=["limit"])
    message: str = Field(description="The problem.", examples=["must be at most 200"])


class Error(ResponseModel):
    """Body of every error response."""

    error: str = Field(
        description="Error message. May change.", examples=["The request is invalid; see fields."]
    )
    code: ErrorCode = Field(description="Machine-readable error code. Stable.")
    request_id: str = Field(
        description="Request ID, as in the `X-Request-Id` header.",
        examples=["0b1f7c5e9a9d4c7f8f1f2a6d5c3b4e21"],
    )
    fields: list[FieldError] = Field(
        default=[], description="Invalid fields; only with `invalid_request`."
    )
    retry_after: int = Field(
        default=0, description="Seconds to wait; only with 429 and 503.", ge=0, examples=[12]
    )


def error_responses(*codes: ErrorCode) -> dict[int | str, dict[str, Any]]:
    """Return FastAPI's ``responses`` for ``codes`` and the errors that every call can return."""
    by_status: dict[int, list[ErrorCode]] = defaultdict(list)
    named = {*codes, *_EVERYWHERE}
    for code in (code for code in ErrorCode if code in named):
        by_status[code.status].append(code)
    return {status: _response(status, of_status) for status, of_status in by_status.items()}


def _response(status: int, codes: list[ErrorCode]) -> dict[str, Any]:
    headers = {name: _reference("headers", name) for name in _HEADERS.get(status, ())}
    return {
        "model": Error,
        "description": " ".join(code.sentence for code in codes),
        **({"headers": headers} if headers else {}),
        "content": {
            "application/json": {
                "examples": {str(code): _reference("examples", code) for code in codes}
            }
        },
    }


def _reference(section: str, name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/{section}/{name}"}


def _example(code: ErrorCode) -> dict[str, Any]:
    body: dict[str, Any] = {
        "error": code.sentence,
        "code": str(code),
        "requestId": _EXAMPLE_REQUEST_ID,
    }
    if code is ErrorCode.INVALID_REQUEST:
        message = "must be at most 200"
        body["fields"] = [{"path": "limit", "message": message}]
    if code.status in (429, 503):
        body["retryAfter"] = 12
    return {"value": body}


router = APIRouter(route_class=GuardedRoute, include_in_schema=False)

_ABOUT = """Licence plate recognition for cameras and images.

Authenticate every call with an API key: `Authorization: Bearer pk_...`. The security requirement of
each call lists the scopes it needs.

Every error response has the body `Error`. Every response has an `X-Request-Id` header, which echoes
the caller's value if it is valid. Responses to rate-limited calls have the headers
`RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (see `components.headers`). IDs that
belong to another account return 404. HEAD works like GET, without the body.
"""
_FILES = {
    BodyKind.IMAGE: f"A JPEG or PNG image of at most {MAX_IMAGE_BYTES} bytes.",
    BodyKind.TABLE: f"A CSV file of at most {MAX_TABLE_BYTES} bytes.",
}
_SECURITY = "apiKey"
_SESSION = "session"
_REQUEST_ID = {
    "description": "Identifies the call in logs. Echoes the caller's value if it is valid.",
    "schema": {"type": "string"},
}
_SHARED: dict[str, Any] = {
    **LIMIT_HEADERS,
    "Retry-After": _NUMBER | {"description": "Seconds to wait before the next request."},
    "WWW-Authenticate": {"schema": {"type": "string"}, "description": "Bearer"},
    "X-Request-Id": _REQUEST_ID,
}
_UPDATE = "Update"
_LEFT_OUT = ("RecognitionBody", "PlateRegion")
"""Types whose unknown values are omitted instead of being null."""
_SCHEMAS = "#/components/schemas/"
_FROM_FASTAPI_OK = "Successful Response"
_SUCCESSES = {"200": "Success.", "201": "Created.", "202": "Accepted.", "204": "Success; no body."}
_FROM_FASTAPI = ("HTTPValidationError", "ValidationError")


@router.get("/api/openapi.json")
@requires(Public.ANYBODY)
async def openapi(request: Request) -> Response:
    """Returns the OpenAPI description."""
    state = request.app.state
    if getattr(state, "openapi_document", None) is None:
        text = json.dumps(description_of(request.app), ensure_ascii=False, separators=(",", ":"))
        state.openapi_document = Document(text, "application/json")
    document: Document = state.openapi_document
    return document.answer(request)


def description_of(app: FastAPI) -> dict[str, Any]:
    """Return the description of ``app``, generated on the first call."""
    if getattr(app.state, "openapi", None) is None:
        app.state.openapi = describe(app)
    found: dict[str, Any] = app.state.openapi
    return found


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the description of all routes that clients use."""
    description = get_openapi(
        title="Platestream API",
        version=app.version,
        description=_ABOUT,
        routes=app.routes,
        openapi_version="3.1.0",
    )
    access = permissions_of(app).access
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            _complete(operation, access[method.upper(), path])
    components = description["components"]
    for name in _FROM_FASTAPI:
        components["schemas"].pop(name, None)
    for name in [name for name in components["schemas"] if name.endswith(_UPDATE)]:
        _remove_defaults(components["schemas"], name)
    components["headers"] = _SHARED
    components["examples"] = {code.value: _example(code) for code in ErrorCode}
    description["webhooks"], schemas = event_description()
    components["schemas"] = {**schemas, **components["schemas"]}
    for schema in components["schemas"].values():
        schema.pop("title", None)
        _drop_titles(schema.get("properties", {}))
    for name in _LEFT_OUT:
        fields = components["schemas"][name]["properties"]
        fields |= {field: _without_null(part) for field, part in fields.items()}
    show_payloads(components["schemas"])
    components["securitySchemes"] = {
        _SECURITY: {"type": "http", "scheme": "bearer", "bearerFormat": "pk_ and 40 characters"},
        _SESSION: {
            "type": "apiKey",
            "in": "cookie",
            "name": SESSION_COOKIE,
            "description": "Set by POST /api/session; named __Host-session over HTTPS. Calls other "
            "than GET must have an Origin header of the same site.",
        },
    }
    return description


def _complete(operation: dict[str, Any], access: Access) -> None:
    # This API returns 400 for invalid parameters and bodies.
    operation["responses"].pop("422", None)
    for status, answer in operation["responses"].items():
        if answer["description"] == _FROM_FASTAPI_OK:
            answer["description"] = _SUCCESSES[status]
    operation["security"] = _security(access)
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _without_null(parameter["schema"])
        parameter["schema"].pop("title", None)
        parameter["schema"].pop("description", None)
        if not parameter["required"]:
            del parameter["required"]
    if access.body in _FILES:
        operation["requestBody"] = {
            "required": True,
            "description": _FILES[access.body],
            "content": {access.body.value: {"schema": {"type": "string", "format": "binary"}}},
        }


def _remove_defaults(schemas: dict[str, Any], name: str) -> None:
    """Remove defaults, which generated clients would send, from an update type and nested types."""
    for field in schemas[name].get("properties", {}).values():
        field.pop("default", None)
        part = field.get("$ref", "").removeprefix(_SCHEMAS)
        if part:
            _remove_defaults(schemas, part)


def _drop_titles(fields: dict[str, dict[str, Any]]) -> None:
    """Remove the titles, which pydantic generates from the field names."""
    for field in fields.values():
        field.pop("title", None)


def _security(access: Access) -> list[dict[str, list[str]]]:
    if isinstance(access.scope, Public):
        return []
    if isinstance(access.scope, OwnSession | Administrator):
        return [{_SESSION: []}]
    if isinstance(access.scope, AnyCaller):
        return [{_SECURITY: []}, {_SESSION: []}]
    return [{_SECURITY: sorted(access.scopes)}, {_SESSION: []}]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value that can be omitted, but is never null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    alone: dict[str, Any] = choices[0]
    return {name: value for name, value in schema.items() if name != "anyOf"} | alone
