"""Serves ``/healthz`` to probes and proxies, and the installation's state to its operators."""

from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Depends

from api.deps import Caller, service
from api.health.operators import Operators
from api.health.service import DiskUsage, Health, Installation, Readiness
from api.middleware.guard import GuardedRoute
from api.schemas import ResponseModel
from api.security.permissions import Administrator, Public, requires
from common.kafka.stage_progress import StageProgress
from common.timestamps import now_ms

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)

HealthDep = Annotated[Health, Depends(service(Health))]
OperatorsDep = Annotated[Operators, Depends(service(Operators))]


class StageBody(ResponseModel):
    """Progress of a stage. ``behind_seconds`` is null if it is unknown or nothing is waiting."""

    name: str
    workers: int
    waiting: int
    behind_seconds: float | None


class DiskBody(ResponseModel):
    """Usage of a disk, named after a folder of the installation."""

    name: str
    used_ratio: float
    free_bytes: int


class InstallationBody(ResponseModel):
    """The state of an installation.

    ``checks`` contains ``ok`` or an error message for each dependency. ``stages`` is null if Kafka
    is unavailable.
    """

    version: str
    checks: dict[str, str]
    warnings: list[str]
    stages: list[StageBody] | None
    disks: list[DiskBody]


def readiness_body(readiness: Readiness) -> dict[str, object]:
    """Return a readiness as JSON: status, checks by dependency, and warnings."""
    return {
        "status": "ready" if readiness.is_ready else "not ready",
        "checks": readiness.checks,
        "warnings": list(readiness.warnings),
    }


def installation_body(found: Installation, readiness: Readiness, now_ms: int) -> InstallationBody:
    """Return the state of an installation at ``now_ms`` (Unix ms, UTC) as JSON."""
    stages = found.stages
    return InstallationBody(
        version=version("platestream"),
        checks=readiness.checks,
        warnings=list(readiness.warnings),
        stages=None if stages is None else [_stage(each, now_ms) for each in stages],
        disks=[_disk(each) for each in found.disks],
    )


def _stage(stage: StageProgress, now_ms: int) -> StageBody:
    oldest_ms = stage.oldest_ms
    return StageBody(
        name=stage.name,
        workers=stage.workers,
        waiting=stage.waiting,
        behind_seconds=None if oldest_ms is None else max(0, now_ms - oldest_ms) / 1000,
    )


def _disk(disk: DiskUsage) -> DiskBody:
    return DiskBody(name=disk.name, used_ratio=disk.used_ratio, free_bytes=disk.free_bytes)


@router.get("/healthz")
@requires(Public.ANYBODY)
async def alive() -> dict[str, str]:
    """Return 200 while the process responds. The response is public, so it contains no details."""
    return {"status": "ok"}


@router.get("/api/health")
@requires(Administrator.ONLY)
async def health(health: HealthDep, operators: OperatorsDep, caller: Caller) -> InstallationBody:
    """Return the state of the dependencies, stages and disks to an operator."""
    await operators.require(caller.owner_id)
    readiness = await health.readiness()
    return installation_body(await health.installation.get(), readiness, now_ms())
