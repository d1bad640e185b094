"""``/livez``, ``/readyz`` and ``/metrics``: for operators, not for clients."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import JSONResponse

from api.deps import Caller, service
from api.health.schemas import InstallationBody, installation_body
from api.health.service import Health
from api.middleware.guard import GuardedRoute
from api.middleware.request_context import ApiMetrics
from api.security.permissions import Administrator, Public, requires
from common.timestamps import now_ms

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


@router.get("/api/health")
@requires(Administrator.ONLY)
async def health(health: HealthDep, caller: Caller) -> InstallationBody:
    """Answer how far the stages are, and the room on the disks."""
    return installation_body(await health.installation.look(), now_ms())


@router.get("/metrics")
@requires(Public.ANYBODY)
async def metrics(request: Request) -> Response:
    """Answer in Prometheus's text format."""
    counters = request.app.state.metrics
    assert isinstance(counters, ApiMetrics)
    return Response(counters.exposition(), media_type="text/plain; version=0.0.4")
