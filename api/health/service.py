"""The readiness of the process: the answer of each dependency, and warnings of disks."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from api.health.disks import DiskRoom, disk_rooms
from api.health.installation import InstallationWatch
from common.errors import PlatestreamError
from common.kafka.stage_progress import stage_progress
from common.settings import KafkaSettings

_CHECK_SECONDS = 2.0
_CACHE_SECONDS = 0.5
WARNING_RATIO: Final = 0.8
_GIB: Final = 1 << 30

Check = Callable[[], Awaitable[None]]
Warn = Callable[[], Awaitable[Sequence[str]]]


@dataclass(frozen=True)
class Readiness:
    """The answer of each dependency: None is well, else a sentence.

    ``warnings`` are sentences about what still works.
    """

    faults: Mapping[str, str | None]
    warnings: Sequence[str] = ()

    @property
    def checks(self) -> dict[str, str]:
        """``ok`` or a sentence for each dependency."""
        return {name: fault or "ok" for name, fault in self.faults.items()}

    @property
    def is_ready(self) -> bool:
        """True while no dependency is down."""
        return not any(self.faults.values())


class Health:
    """Asks all dependencies concurrently, and not more often than twice a second."""

    def __init__(
        self,
        checks: Mapping[str, Check],
        warn: Warn | None = None,
        installation: InstallationWatch | None = None,
        *,
        check_seconds: float = _CHECK_SECONDS,
    ) -> None:
        """``checks`` return when the named dependency is well and raise otherwise.

        ``warn`` returns what an operator should hear although all is well. ``installation`` is what
        administrators see; None: nothing is known of it.
        """
        self.installation = installation or InstallationWatch(tuple, tuple)
        self._checks = dict(checks)
        self._warn = warn or _nothing
        self._check_seconds = check_seconds
        self._lock = asyncio.Lock()
        self._last = Readiness({})
        self._until = 0.0

    async def readiness(self) -> Readiness:
        """Return what is up and what is down."""
        async with self._lock:
            if time.monotonic() >= self._until:
                asked = (_fault(check, self._check_seconds) for check in self._checks.values())
                faults, warnings = await asyncio.gather(
                    asyncio.gather(*asked), _warnings(self._warn, self._check_seconds)
                )
                self._last = Readiness(dict(zip(self._checks, faults, strict=True)), warnings)
                self._until = time.monotonic() + _CACHE_SECONDS
            return self._last


async def _fault(check: Check, seconds: float) -> str | None:
    try:
        async with asyncio.timeout(seconds):
            await check()
    except TimeoutError:
        return f"no answer within {seconds:g} s"
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
    """Return a sentence for each disk of these folders that is 80 % full."""
    rooms = await asyncio.to_thread(disk_rooms, folders)
    return tuple(_disk_warning(disk) for disk in rooms if disk.used_ratio >= WARNING_RATIO)


def _disk_warning(disk: DiskRoom) -> str:
    room = disk.free_bytes / _GIB
    return f"the disk of {disk.name} is {disk.used_ratio:.0%} full, {room:.1f} GiB are left"


def watched_health(
    kafka: KafkaSettings, folders: Sequence[Path], checks: Mapping[str, Check]
) -> Health:
    """Return the health of an API with these ``checks`` and ``folders`` on its disks."""
    return Health(
        checks,
        partial(disk_warnings, folders),
        InstallationWatch(partial(stage_progress, kafka), partial(disk_rooms, folders)),
    )
