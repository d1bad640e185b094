"""Serves the OpenAPI description in Swagger UI at ``/api/docs``, without any external files."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.errors import require_found
from api.middleware.documents import Document
from api.middleware.guard import GuardedRoute
from api.security.permissions import Public, requires

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)

_PAGE: Final = "/api/docs"
FOLDER: Final = f"{_PAGE}/swagger-ui-5.35.0"
_MEDIA_TYPES: Final = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "start.js": "text/javascript",
}
# Swagger UI's style sheet contains images as data: URLs.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


@router.get(_PAGE)
@requires(Public.ANYBODY)
async def docs(request: Request) -> Response:
    """Return the documentation page."""
    return _documents()[_PAGE].answer(request)


@router.get(FOLDER + "/{file}")
@requires(Public.ANYBODY)
async def docs_file(request: Request) -> Response:
    """Return a file of Swagger UI.

    Raises:
        ApiError: 404, the file does not exist.
    """
    return require_found(_documents().get(request.url.path)).answer(request)


@cache
def _documents() -> Mapping[str, Document]:
    static = files(__package__).joinpath("static")
    page = static.joinpath("index.html").read_text("utf-8").replace("{folder}", FOLDER)
    assets = {
        f"{FOLDER}/{name}": Document(static.joinpath(name).read_text("utf-8"), media_type)
        for name, media_type in _MEDIA_TYPES.items()
    }
    headers = {"Content-Security-Policy": _POLICY}
    return {_PAGE: Document(page, "text/html", headers), **assets}
