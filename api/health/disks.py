"""The room on the disks of some folders."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DiskRoom:
    """The disk of a folder, by the folder's name: the share that is used, and the bytes left."""

    name: str
    used_ratio: float
    free_bytes: int


def disk_rooms(folders: Sequence[Path]) -> tuple[DiskRoom, ...]:
    """Return the room on each disk, once, under the first of its folders; none for what is not."""
    disks: dict[int, Path] = {}
    for folder in folders:
        if folder.exists():
            disks.setdefault(folder.stat().st_dev, folder)
    return tuple(map(_room, disks.values()))


def _room(folder: Path) -> DiskRoom:
    disk = os.statvfs(folder)
    used, free = disk.f_blocks - disk.f_bfree, disk.f_bavail
    # As df counts: what only root may use is neither.
    ratio = used / (used + free) if used + free else 0.0
    return DiskRoom(folder.name, ratio, free * disk.f_frsize)
