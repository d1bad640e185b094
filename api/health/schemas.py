"""JSON of how an installation is doing."""

from importlib.metadata import version

from api.health.disks import DiskRoom
from api.health.installation import Installation
from api.health.service import Readiness
from api.schemas import ResponseModel
from common.kafka.stage_progress import StageProgress


class StageBody(ResponseModel):
    """How far a stage is; ``behind_seconds`` is null where nothing waits, or it is not known."""

    name: str
    workers: int
    waiting: int
    behind_seconds: float | None


class DiskBody(ResponseModel):
    """The room on a disk, which has the name of a folder of the installation."""

    name: str
    used_ratio: float
    free_bytes: int


class InstallationBody(ResponseModel):
    """The state of an installation.

    ``checks`` has ``ok`` or a sentence for each dependency. ``stages`` is null if Kafka does not
    answer.
    """

    version: str
    checks: dict[str, str]
    warnings: list[str]
    stages: list[StageBody] | None
    disks: list[DiskBody]


def readiness_body(readiness: Readiness) -> dict[str, object]:
    """Return the JSON form of a readiness: its status, checks by dependency, and warnings."""
    return {
        "status": "ready" if readiness.is_ready else "not ready",
        "checks": readiness.checks,
        "warnings": list(readiness.warnings),
    }


def installation_body(found: Installation, readiness: Readiness, now_ms: int) -> InstallationBody:
    """Return the JSON form of the state of an installation at a time (Unix ms, UTC)."""
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


def _disk(disk: DiskRoom) -> DiskBody:
    return DiskBody(name=disk.name, used_ratio=disk.used_ratio, free_bytes=disk.free_bytes)
