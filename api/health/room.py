"""Warnings of disks, and of the picture store, that are nearly full: nothing has failed yet."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from common.errors import TransientError

WARNING_RATIO: Final = 0.8
_GIB: Final = 1 << 30


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
