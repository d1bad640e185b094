"""The OpenAPI 3.1 description: what FastAPI derives, made true to what the gate and errors do."""

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse

from api.access import ACCESS, Access, BodyKind, OwnSession, Public
from api.answers import LIMIT_HEADERS
from api.guard import GuardedRoute
from api.principal import SESSION_COOKIE
from api.recognize.body import MAX_IMAGE_BYTES

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)

_ABOUT = """Number plates read from cameras and images.

Send an API key with every call: `Authorization: Bearer pk_...`. Each call needs the scope that is
named with its security requirement. Every error, whatever its status, has the body `Error`; every
answer carries `X-Request-Id`, the caller's own if it sent a sane one. Ids that belong to another
account are answered as if they did not exist. HEAD is answered like GET, without the body.
"""
_SECURITY = "apiKey"
_SESSION = "session"
_REQUEST_ID = {
    "description": "Names the call in logs; the caller's own if it sent a sane one.",
    "schema": {"type": "string"},
}
_UPDATE = "Update"
_SCHEMAS = "#/components/schemas/"
_FROM_FASTAPI = ("HTTPValidationError", "ValidationError")


def install_openapi(app: FastAPI) -> None:
    """Serve the description of ``app``, built once."""
    app.include_router(router)
    app.state.openapi = None


@router.get("/api/openapi.json")
async def openapi(request: Request) -> JSONResponse:
    """Answer with the OpenAPI description."""
    return JSONResponse(description_of(request.app))


def description_of(app: FastAPI) -> dict[str, Any]:
    """Return the description of ``app``, made once."""
    if app.state.openapi is None:
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
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            _complete(operation, ACCESS[method.upper(), path])
    components = description["components"]
    for name in _FROM_FASTAPI:
        components["schemas"].pop(name, None)
    for name in [name for name in components["schemas"] if name.endswith(_UPDATE)]:
        _forget_defaults(components["schemas"], name)
    components["securitySchemes"] = {
        _SECURITY: {"type": "http", "scheme": "bearer", "bearerFormat": "pk_ and 40 characters"},
        _SESSION: {
            "type": "apiKey",
            "in": "cookie",
            "name": SESSION_COOKIE,
            "description": "Set by POST /api/session. Calls other than GET need an Origin header "
            "that names this very site.",
        },
    }
    return description


def _complete(operation: dict[str, Any], access: Access) -> None:
    responses = operation["responses"]
    # Faults of parameters and bodies are answered with 400 here.
    responses.pop("422", None)
    for status, response in responses.items():
        limits = LIMIT_HEADERS if _counts(access) and status != "401" else {}
        response["headers"] = {**response.get("headers", {}), **limits, "X-Request-Id": _REQUEST_ID}
    operation["security"] = _security(access)
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _without_null(parameter["schema"])
    if access.body is BodyKind.IMAGE:
        operation["requestBody"] = {
            "required": True,
            "description": f"A JPEG or PNG file of at most {MAX_IMAGE_BYTES} bytes.",
            "content": {access.body.value: {"schema": {"type": "string", "format": "binary"}}},
        }


def _counts(access: Access) -> bool:
    """Tell whether calls count in a limit, once their caller is known."""
    return access.limited_by_address or not isinstance(access.scope, Public)


def _forget_defaults(schemas: dict[str, Any], name: str) -> None:
    """Take the defaults out of a body that changes only what is sent, and out of its parts.

    A client that is made from the description would send them.
    """
    for field in schemas[name].get("properties", {}).values():
        field.pop("default", None)
        part = field.get("$ref", "").removeprefix(_SCHEMAS)
        if part:
            _forget_defaults(schemas, part)


def _security(access: Access) -> list[dict[str, list[str]]]:
    if isinstance(access.scope, Public):
        return []
    if isinstance(access.scope, OwnSession):
        return [{_SESSION: []}]
    return [{_SECURITY: [access.scope.value]}, {_SESSION: []}]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter that may be left out, but never be null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    alone: dict[str, Any] = choices[0]
    return {name: value for name, value in schema.items() if name != "anyOf"} | alone
