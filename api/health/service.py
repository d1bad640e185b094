"""Checks the readiness of the process and the state of the installation (stages and disks)."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from common.errors import PlatestreamError
from common.kafka.stage_progress import StageProgress

log = structlog.get_logger()

_CHECK_SECONDS = 2.0
_READINESS_SECONDS: Final = 0.5
_INSTALLATION_SECONDS: Final = 5.0
WARNING_RATIO: Final = 0.8
_GIB: Final = 1 << 30

Check = Callable[[], Awaitable[None]]
Warn = Callable[[], Awaitable[Sequence[str]]]


@dataclass(frozen=True)
class DiskUsage:
    """The name of a folder, and the used fraction and free bytes of the folder's disk."""

    name: str
    used_ratio: float
    free_bytes: int


def disk_usage(folders: Sequence[Path]) -> tuple[DiskUsage, ...]:
    """Return the usage of each disk, named after the disk's first folder that exists."""
    disks: dict[int, Path] = {}
    for folder in folders:
        if folder.exists():
            disks.setdefault(folder.stat().st_dev, folder)
    return tuple(map(_disk_usage, disks.values()))


def _disk_usage(folder: Path) -> DiskUsage:
    disk = os.statvfs(folder)
    used, free = disk.f_blocks - disk.f_bfree, disk.f_bavail
    # As in df, blocks reserved for root count as neither used nor free.
    ratio = used / (used + free) if used + free else 0.0
    return DiskUsage(folder.name, ratio, free * disk.f_frsize)


@dataclass(frozen=True)
class Installation:
    """Progress of the stages (None if Kafka is unavailable), and disk usage."""

    stages: Sequence[StageProgress] | None
    disks: Sequence[DiskUsage]


class InstallationStatus:
    """Queries Kafka and the disks at most every five seconds, and caches the result."""

    def __init__(
        self,
        stages: Callable[[], Sequence[StageProgress]],
        disks: Callable[[], Sequence[DiskUsage]],
    ) -> None:
        """Both functions can block. ``stages`` raises PlatestreamError if Kafka is unavailable."""
        self._stages = stages
        self._disks = disks
        self._lock = asyncio.Lock()
        self._last = Installation(None, ())
        self._until = 0.0

    async def get(self) -> Installation:
        """Return the state of the installation."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._last = await asyncio.to_thread(self._query)
                self._until = time.monotonic() + _INSTALLATION_SECONDS
            return self._last

    def _query(self) -> Installation:
        disks = self._disks()
        try:
            return Installation(self._stages(), disks)
        except PlatestreamError as error:
            log.warning("stage_progress_unavailable", error=repr(error))
            return Installation(None, disks)


@dataclass(frozen=True)
class Readiness:
    """The error message of each dependency, or None if the dependency is healthy.

    ``warnings`` are messages about problems that do not affect readiness.
    """

    faults: Mapping[str, str | None]
    warnings: Sequence[str] = ()

    @property
    def checks(self) -> dict[str, str]:
        """``ok`` or the error message of each dependency."""
        return {name: fault or "ok" for name, fault in self.faults.items()}

    @property
    def is_ready(self) -> bool:
        """Whether all dependencies are healthy."""
        return not any(self.faults.values())


class Health:
    """Checks all dependencies concurrently, at most twice a second."""

    def __init__(
        self,
        checks: Mapping[str, Check],
        warn: Warn | None = None,
        installation: InstallationStatus | None = None,
        *,
        check_seconds: float = _CHECK_SECONDS,
    ) -> None:
        """``checks`` return if the named dependency is healthy, and raise otherwise.

        ``warn`` returns warnings, which do not affect readiness. ``installation`` is the state
        shown to operators. If ``installation`` is None, stages and disks are omitted.
        """
        self.installation = installation or InstallationStatus(tuple, tuple)
        self._checks = dict(checks)
        self._warn = warn or _nothing
        self._check_seconds = check_seconds
        self._lock = asyncio.Lock()
        self._last = Readiness({})
        self._until = 0.0

    async def readiness(self) -> Readiness:
        """Return the health of the dependencies, and the warnings."""
        async with self._lock:
            if time.monotonic() >= self._until:
                results = (_fault(check, self._check_seconds) for check in self._checks.values())
                faults, warnings = await asyncio.gather(
                    asyncio.gather(*results), _warnings(self._warn, self._check_seconds)
                )
                self._last = Readiness(dict(zip(self._checks, faults, strict=True)), warnings)
                self._until = time.monotonic() + _READINESS_SECONDS
            return self._last


async def _fault(check: Check, seconds: float) -> str | None:
    try:
        async with asyncio.timeout(seconds):
            await check()
    except TimeoutError:
        return f"no response within {seconds:g} s"
    except PlatestreamError as error:
        return str(error)
    return None


async def _warnings(warn: Warn, seconds: float) -> Sequence[str]:
    try:
        async with asyncio.timeout(seconds):
            return await warn()
    except TimeoutError:
        return ()


async def _nothing() -> Sequence[str]:
    return ()


async def disk_warnings(folders: Sequence[Path]) -> tuple[str, ...]:
    """Return a warning for each disk of these folders that is at least 80 % full."""
    disks = await asyncio.to_thread(disk_usage, folders)
    return tuple(_disk_warning(disk) for disk in disks if disk.used_ratio >= WARNING_RATIO)


def _disk_warning(disk: DiskUsage) -> str:
    free_gib = disk.free_bytes / _GIB
    return f"the disk of {disk.name} is {disk.used_ratio:.0%} full ({free_gib:.1f} GiB free)"
