"""Serves the console's page at the path of each view, and the console's files."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.console.assets import ASSETS, console
from api.errors import require_found
from api.middleware.guard import GuardedRoute
from api.security.permissions import Public, requires

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)

VIEWS = (
    "/",
    "/search",
    "/recognitions/{id}",
    "/cameras",
    "/cameras/new",
    "/cameras/import",
    "/cameras/{id}",
    "/alerts",
    "/alerts/new",
    "/alerts/{id}",
    "/webhooks",
    "/webhooks/new",
    "/webhooks/{id}",
    "/keys",
    "/people",
    "/invitation",
    "/log-in/oidc",
    "/account",
    "/analytics",
    "/audit",
    "/health",
)
"""The paths of the console's views, as in ``static/app.js``."""


@requires(Public.ANYBODY)
async def console_page(request: Request) -> Response:
    """Return the page, whose script shows the view that belongs to the path."""
    return console().page.answer(request)


for _path in VIEWS:
    router.add_api_route(_path, console_page, methods=["GET"])


@router.get(ASSETS + "/{release}/{file:path}")
@requires(Public.ANYBODY)
async def console_asset(request: Request) -> Response:
    """Return a file of the console.

    Raises:
        ApiError: 404, this release has no such file.
    """
    return require_found(console().asset(request.url.path)).answer(request)
