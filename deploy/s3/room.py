"""Room for pictures: a bound of their bytes, and what they leave of the disk for all others."""

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path

_BLOCK_BYTES = 512
_MEASURE_SECONDS = 60.0
# A measurement looks at each file: with a million of them it takes seconds, and the processor has
# other work in between.
_PAUSE_RATIO = 20


@dataclass(frozen=True)
class Bounds:
    """The bytes that pictures may take in all (0: any number), and that they leave free."""

    max_bytes: int
    keep_free_bytes: int


class Room:
    """The room in the folder of all pictures, for one event loop."""

    def __init__(self, folder: Path, bounds: Bounds) -> None:
        """Nothing is measured yet: until then only the disk counts."""
        self._folder = folder
        self._bounds = bounds
        self._used: int | None = None
        self._added = 0
        self._removed = asyncio.Event()

    @property
    def full_ratio(self) -> float:
        """The share of the bound of bytes that is used, 0 without one; 1 where there is no room."""
        if self.lack(0) is not None:
            return 1.0
        if not self._bounds.max_bytes or self._used is None:
            return 0.0
        return (self._used + self._added) / self._bounds.max_bytes

    def lack(self, size: int) -> str | None:
        """Return why so many bytes find no room, None where they do."""
        if _free_bytes(self._folder) - size < self._bounds.keep_free_bytes:
            return "the disk is nearly full"
        if self._used is None or not self._bounds.max_bytes:
            return None
        if self._used + self._added + size > self._bounds.max_bytes:
            return "pictures have reached their bound"
        return None

    def note_added(self, size: int) -> None:
        """Count a picture until the next measurement."""
        self._added += size

    def note_removed(self) -> None:
        """Ask for a measurement soon: there may be room again."""
        self._removed.set()

    async def measure_for_ever(self) -> None:
        """Measure now and every minute, and sooner where something was removed."""
        while self._bounds.max_bytes:
            started = time.monotonic()
            await self.measure()
            await asyncio.sleep(_PAUSE_RATIO * (time.monotonic() - started))
            try:
                async with asyncio.timeout(_MEASURE_SECONDS):
                    await self._removed.wait()
            except TimeoutError:
                continue

    async def measure(self) -> None:
        """Measure what pictures take."""
        self._removed.clear()
        before = self._added
        used = await asyncio.to_thread(_used_bytes, self._folder)
        # What came meanwhile may be counted twice, until the next time.
        self._used, self._added = used, self._added - before


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _used_bytes(folder: Path) -> int:
    """Return what a folder takes on the disk; what goes meanwhile is passed over."""
    used, folders = 0, [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        used += _size(entry)
        except FileNotFoundError:
            continue
    return used


def _size(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
    except FileNotFoundError:
        return 0
