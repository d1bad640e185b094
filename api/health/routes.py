"""``/healthz`` for probes and proxies, and the state of the installation for its operators."""

from typing import Annotated

from fastapi import APIRouter, Depends

from api.deps import Caller, service
from api.health.operators import Operators
from api.health.schemas import InstallationBody, installation_body
from api.health.service import Health
from api.middleware.guard import GuardedRoute
from api.security.permissions import Administrator, Public, requires
from common.timestamps import now_ms

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)

HealthDep = Annotated[Health, Depends(service(Health))]
OperatorsDep = Annotated[Operators, Depends(service(Operators))]


@router.get("/healthz")
@requires(Public.ANYBODY)
async def alive() -> dict[str, str]:
    """Return 200 while the process answers. Anyone may call it, so it says nothing else."""
    return {"status": "ok"}


@router.get("/api/health")
@requires(Administrator.ONLY)
async def health(health: HealthDep, operators: OperatorsDep, caller: Caller) -> InstallationBody:
    """Return the state of the dependencies, stages and disks to an operator."""
    await operators.require(caller.owner_id)
    readiness = await health.readiness()
    return installation_body(await health.installation.look(), readiness, now_ms())
