"""The readiness of the process: the answer of each dependency, and warnings of disks."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from common.errors import PlatestreamError, TransientError

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
    def is_ready(self) -> bool:
        """True while no dependency is down."""
        return not any(self.faults.values())


class Health:
    """Asks all dependencies concurrently, and not more often than twice a second."""

    def __init__(
        self,
        checks: Mapping[str, Check],
        warn: Warn | None = None,
        *,
        check_seconds: float = _CHECK_SECONDS,
    ) -> None:
        """``checks`` return when the named dependency is well and raise otherwise.

        ``warn`` returns what an operator should hear although all is well.
        """
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


class RoomWatch:
    """Looks at the disks of some folders, and asks the picture store."""

    def __init__(
        self, folders: Sequence[Path], picture_ratio: Callable[[], Awaitable[float | None]]
    ) -> None:
        """``picture_ratio`` returns the share of the store's bound that is taken, if it says so."""
        self._folders = tuple(folders)
        self._picture_ratio = picture_ratio

    async def warnings(self) -> tuple[str, ...]:
        """Return a sentence for each that is 80 % full; for what does not answer, none."""
        disks = await asyncio.to_thread(_disk_warnings, self._folders)
        try:
            ratio = await self._picture_ratio() or 0.0
        except TransientError:
            ratio = 0.0
        if ratio < WARNING_RATIO:
            return disks
        taken = "is full and takes no more" if ratio >= 1 else f"is {ratio:.0%} full"
        return (*disks, f"the store of images {taken}")


def _disk_warnings(folders: Sequence[Path]) -> tuple[str, ...]:
    disks: dict[int, Path] = {}
    for folder in folders:
        if folder.exists():
            disks.setdefault(folder.stat().st_dev, folder)
    found = [_disk_warning(folder) for folder in disks.values()]
    return tuple(sentence for sentence in found if sentence is not None)


def _disk_warning(folder: Path) -> str | None:
    disk = os.statvfs(folder)
    used, free = disk.f_blocks - disk.f_bfree, disk.f_bavail
    # As df counts: what only root may use is neither.
    ratio = used / (used + free) if used + free else 0.0
    if ratio < WARNING_RATIO:
        return None
    room = free * disk.f_frsize / _GIB
    # Its name only: strangers may reach /readyz.
    return f"the disk of {folder.name} is {ratio:.0%} full, {room:.1f} GiB are left"
