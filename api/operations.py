"""``/livez``, ``/readyz`` and ``/metrics``: for operators, not for clients."""

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from api.guard import GuardedRoute
from api.metrics import ApiMetrics
from api.services import services_of

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)


@router.get("/livez")
async def live() -> dict[str, str]:
    """Answer as long as the event loop runs."""
    return {"status": "alive"}


@router.get("/readyz")
async def ready(request: Request) -> JSONResponse:
    """Answer 200 where everything that requests need answers, else 503 with what is down."""
    readiness = await services_of(request).health.readiness()
    checks = {name: fault or "ok" for name, fault in readiness.faults.items()}
    status = "ready" if readiness.is_ready else "not ready"
    return JSONResponse(
        {"status": status, "checks": checks}, status_code=200 if readiness.is_ready else 503
    )


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Answer in Prometheus's text format."""
    counters = request.app.state.metrics
    assert isinstance(counters, ApiMetrics)
    return Response(counters.exposition(), media_type="text/plain; version=0.0.4")
