"""The OpenAPI description, and its route."""

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import JSONResponse

from api.guard import GuardedRoute

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)


def install_openapi(app: FastAPI) -> None:
    """Serve the description of ``app``."""
    app.include_router(router)


@router.get("/api/openapi.json")
async def openapi(request: Request) -> JSONResponse:
    """Answer with the OpenAPI description."""
    description: dict[str, Any] = request.app.openapi()
    return JSONResponse(description)
