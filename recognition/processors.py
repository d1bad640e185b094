"""Determines the CPUs that this process can use, and the CPUs' instructions."""

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

_ROOT: Final = Path("/")
_BF16_FLAGS: Final = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""CPU flags for bf16 on x86 and (the last flag) on ARM. **Source:** proc_cpuinfo(5)."""


def computes_bf16(root: Path = _ROOT) -> bool:
    """Return whether the CPU has bf16 instructions. ``root`` contains ``proc``."""
    try:
        lines = (root / "proc" / "cpuinfo").read_text().splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return not _BF16_FLAGS.isdisjoint(flags.split())


def available_processors(root: Path = _ROOT) -> int:
    """Return the number of CPUs that this process can use, at least 1.

    This is the minimum of the number in the affinity mask and the CPU quotas of the process's
    cgroup and all parent cgroups, rounded up. ``root`` contains ``proc`` and ``sys``.
    """
    processors = float(len(os.sched_getaffinity(0)))
    return max(1, math.ceil(min([processors, *_quotas(root)])))


def _quotas(root: Path) -> Iterator[float]:
    """Yield the CPU quotas that apply to this process, in CPUs.

    **Source:** cgroups(7) for /proc/self/cgroup; Linux's cgroup-v2.rst for cpu.max; sched-bwc.rst
    for cpu.cfs_quota_us and cpu.cfs_period_us of version 1.
    """
    mounts = root / "sys" / "fs" / "cgroup"
    for controllers, path in _memberships(root):
        if controllers == "":
            for folder in (*_folders(mounts, path), *_folders(mounts / "unified", path)):
                yield from _quota(folder / "cpu.max")
        elif "cpu" in controllers.split(","):
            for folder in (*_folders(mounts / controllers, path), *_folders(mounts / "cpu", path)):
                yield from _quota(folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us")


def _memberships(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the controllers of each hierarchy (empty in version 2) and the process's cgroup."""
    with suppress(OSError):
        for line in (root / "proc" / "self" / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            yield controllers, path


def _folders(mount: Path, path: str) -> Iterator[Path]:
    """Yield the folder of a cgroup and its parents, up to ``mount``.

    In a container, ``path`` may be the path on the host. Then only ``mount`` exists.
    """
    inside = PurePosixPath("." if ".." in path.split("/") else path.strip("/"))
    return (mount / folder for folder in (inside, *inside.parents))


def _quota(*files: Path) -> Iterator[float]:
    """Yield the number of CPUs for a quota and a period in microseconds; nothing if unlimited."""
    with suppress(OSError, ValueError):
        quota, period = (int(word) for file in files for word in file.read_text().split())
        if quota > 0 and period > 0:
            yield quota / period
