"""What a running stack takes, again and again: memory, descriptors, disk, lag, lines of errors."""

import json
import os
import re
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import psutil
from kafka.errors import KafkaError

from common.errors import TransientError
from deploy.local.files import Layout
from deploy.local.processes import memory_mib
from deploy.local.supervisor import Supervisor
from tests.fault.stages import Stages

_MIB = 1 << 20
_DISKS = ("kafka", "postgres", "clickhouse", "s3", "streams", "logs")
_KEPT_LINES = 20
# Of the servers, which do not write JSON: Log4j's and PostgreSQL's words.
_ERROR_WORDS = re.compile(r"\b(ERROR|FATAL|PANIC)\b")
_ERROR_LEVELS = ("error", "critical")


class Sample(msgspec.Struct, frozen=True):
    """One look at the stack. ``seconds`` count from the beginning.

    ``memory_mib`` (pages shared by several counted once), ``descriptors``, ``threads`` and
    ``pids`` are by process of the stack, its children included; ``disk_mib`` by folder;
    ``lag`` by stage and topic; ``latency_ms`` the p95 of what clients asked since the last look.
    """

    seconds: float
    memory_mib: dict[str, float]
    descriptors: dict[str, int]
    threads: dict[str, int]
    pids: dict[str, int]
    disk_mib: dict[str, float]
    segments: int
    lag: dict[str, int]
    errors: dict[str, int]
    latency_ms: dict[str, float] = {}


@dataclass
class ErrorLines:
    """Lines of level error or worse in the logs, counted as they are written."""

    folder: Path
    counts: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)
    """The first of them."""
    _read: dict[Path, int] = field(default_factory=dict)

    def look(self) -> None:
        """Count what came since the last look; a file that was rotated begins again."""
        for path in sorted(self.folder.glob("*.log")):
            begin = self._read.get(path, 0)
            if path.stat().st_size < begin:
                begin = 0
            with path.open("rb") as file:
                file.seek(begin)
                text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._read[path] = begin + len(whole)
            for line in whole.decode(errors="replace").splitlines():
                if is_error(line):
                    self.counts[path.stem] += 1
                    self.lines += [f"{path.stem}: {line}"] if len(self.lines) < _KEPT_LINES else []


def is_error(line: str) -> bool:
    """Return whether a line of a log says that something failed. Ours are JSON."""
    if line.startswith("{"):
        try:
            return json.loads(line).get("level") in _ERROR_LEVELS
        except ValueError:
            return False
    return _ERROR_WORDS.search(line) is not None


class Sampler:
    """Looks at one stack."""

    def __init__(self, layout: Layout, stages: Stages) -> None:
        self._layout = layout
        self._supervisor = Supervisor(layout)
        self._stages = stages
        self._began = time.monotonic()
        self.errors = ErrorLines(layout.logs)

    def look(self, latency_ms: Mapping[str, float]) -> Sample:
        """Return how it is now."""
        pids = {one.name: one.pid for one in self._supervisor.statuses()}
        families = {name: _family(pid) for name, pid in pids.items()}
        self.errors.look()
        disk = {name: _bytes_below(self._layout.root / name) / _MIB for name in _DISKS}
        wal = _bytes_below(self._layout.root / "postgres", "pg_wal") / _MIB
        return Sample(
            seconds=time.monotonic() - self._began,
            memory_mib={name: memory_mib(pid) for name, pid in pids.items()},
            descriptors={name: _sum(family, "num_fds") for name, family in families.items()},
            threads={name: _sum(family, "num_threads") for name, family in families.items()},
            pids=pids,
            disk_mib=disk | {"postgres WAL": wal},
            segments=_segments(self._layout.root / "kafka"),
            lag=self._lag(),
            errors=dict(self.errors.counts),
            latency_ms=dict(latency_ms),
        )

    def _lag(self) -> dict[str, int]:
        try:
            return {str(step): count for step, count in self._stages.lag().items()}
        except (KafkaError, TransientError):
            return {}


def _family(pid: int) -> list[psutil.Process]:
    try:
        main = psutil.Process(pid)
        return [main, *main.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _sum(family: list[psutil.Process], method: str) -> int:
    total = 0
    for process in family:
        try:
            total += getattr(process, method)()
        except psutil.Error:
            continue
    return total


def _bytes_below(folder: Path, only: str = "") -> int:
    """Return what files take on the disk, in the folder, or in those of its folders named so."""
    total = 0
    # Files come and go meanwhile; a folder that has gone is left out by itself.
    for place, _, names in os.walk(folder):
        if only and only not in Path(place).parts:
            continue
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
    return total


def _segments(folder: Path) -> int:
    """Return how many segments Kafka keeps."""
    return sum(name.endswith(".log") for _, _, names in os.walk(folder) for name in names)
