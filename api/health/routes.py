"""``/livez``, ``/readyz`` and ``/metrics``: for operators, not for clients."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import JSONResponse

from api.deps import service
from api.health.service import Health
from api.middleware.guard import GuardedRoute
from api.middleware.request_context import ApiMetrics
from api.security.permissions import Public, requires

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)

HealthDep = Annotated[Health, Depends(service(Health))]


@router.get("/livez")
@requires(Public.ANYBODY)
async def live() -> dict[str, str]:
    """Answer as long as the event loop runs."""
    return {"status": "alive"}


@router.get("/readyz")
@requires(Public.ANYBODY)
async def ready(health: HealthDep) -> JSONResponse:
    """Answer 200 where everything that requests need answers, else 503 with what is down.

    Warnings change nothing about that.
    """
    readiness = await health.readiness()
    checks = {name: fault or "ok" for name, fault in readiness.faults.items()}
    status = "ready" if readiness.is_ready else "not ready"
    body = {"status": status, "checks": checks, "warnings": list(readiness.warnings)}
    return JSONResponse(body, status_code=200 if readiness.is_ready else 503)


@router.get("/metrics")
@requires(Public.ANYBODY)
async def metrics(request: Request) -> Response:
    """Answer in Prometheus's text format."""
    counters = request.app.state.metrics
    assert isinstance(counters, ApiMetrics)
    return Response(counters.exposition(), media_type="text/plain; version=0.0.4")
