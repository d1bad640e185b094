"""Faults of a stack's processes, one after another or at seeded times."""

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.services.kafka_cluster import broker_names
from tests.services.stack import RunningStack, second_name
from tests.waiting import wait_until

RECOVERY_SECONDS = float(os.environ.get("FAULT_RECOVERY_SECONDS") or 60)
"""The recovery time that the service promises. A busy machine can set a longer time."""

_MIB = 1024 * 1024
_THERE_SECONDS = 2 * RECOVERY_SECONDS
_QUOTA_MIB = {"postgres": 512, "clickhouse": 1024, "s3": 1024, "kafka": 3072}


class FaultKind(StrEnum):
    """The kinds of faults."""

    KILL = "kill -9"
    KILL_WORKER = "kill -9 of a worker of"
    FREEZE = "freeze"
    FILL = "fill the disk of"
    LEAVE = "do without"
    CUT = "cut Kafka's network to"


@dataclass(frozen=True)
class Fault:
    """A fault. ``seconds`` is its duration, if it has one."""

    kind: FaultKind
    process: str
    seconds: float = 0.0

    def __str__(self) -> str:
        lasting = f" {self.seconds:g} s" if self.seconds else ""
        return f"{self.kind} {self.process}{lasting}"


SERVERS = ("kafka", "clickhouse", "postgres", "s3")
APPLICATION = ("ingest", "recognition", "sink", "alerts", "webhooks", "relay", "api")
TWICE = APPLICATION
"""Processes that run twice in a long run. The two share cameras, partitions and tables."""
TWICE_IN_SHORT = ("sink", "alerts")
"""Processes that run twice in every run."""
BROKERS = 3
"""Number of Kafka brokers in a long run. Each stores every record; two must confirm a write."""
SECOND_WORKERS = "the second workers"
KILLS = tuple(Fault(FaultKind.KILL, process) for process in (*SERVERS, *APPLICATION))
WORKER_KILLS = tuple(Fault(FaultKind.KILL_WORKER, process) for process in ("recognition", "api"))


def kills_of_seconds(stages: Sequence[str]) -> tuple[Fault, ...]:
    """Return one fault per stage, in which the stage's second worker is killed."""
    return tuple(Fault(FaultKind.KILL, second_name(stage)) for stage in stages)


def freezes(seconds: float, processes: Sequence[str]) -> tuple[Fault, ...]:
    return tuple(Fault(FaultKind.FREEZE, process, seconds) for process in processes)


def cut(seconds: float) -> Fault:
    """Return the fault in which the second workers cannot reach Kafka but keep running."""
    return Fault(FaultKind.CUT, SECOND_WORKERS, seconds)


def without_brokers(seconds: float) -> tuple[Fault, ...]:
    """Return one fault per broker, in which the broker is killed and stays down for ``seconds``."""
    return tuple(Fault(FaultKind.LEAVE, broker, seconds) for broker in broker_names(BROKERS))


def fills(seconds: float) -> tuple[Fault, ...]:
    """Return one fault per server, in which the server's disk is full for ``seconds``."""
    return tuple(Fault(FaultKind.FILL, server, seconds) for server in SERVERS)


def in_seeded_order(faults: Sequence[Fault], chance: random.Random) -> list[Fault]:
    return chance.sample(faults, len(faults))


class Saboteur:
    """Injects faults into the processes of a running stack."""

    def __init__(self, stack: RunningStack) -> None:
        self._stack = stack

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """Cut the second workers off from Kafka while the block runs; processes keep running."""
        assert self._stack.cable is not None, "the stack has no cable"
        self._stack.cable.cut()
        try:
            yield
        finally:
            self._stack.cable.mend()

    def cause(self, fault: Fault) -> Callable[[], bool]:
        """Inject the fault, and return a function that checks whether the process runs again."""
        if fault.kind is FaultKind.CUT:
            with self.cut_off():
                time.sleep(fault.seconds)
            return lambda: True
        old = self._running_pid(fault.process)
        if fault.kind is FaultKind.KILL:
            self._stack.kill(fault.process)
            return lambda: self._stack.pid(fault.process) not in (0, old)
        if fault.kind is FaultKind.KILL_WORKER:
            wait_until(
                "it has workers", lambda: bool(self._stack.workers(fault.process)), _THERE_SECONDS
            )
            killed = self._stack.kill_worker(fault.process)
            return lambda: bool(set(self._stack.workers(fault.process)) - {killed})
        if fault.kind is FaultKind.LEAVE:
            self._stack.kill(fault.process)
            self._stack.stop_process(fault.process)
            time.sleep(fault.seconds)
            self._stack.start_process(fault.process)
        elif fault.kind is FaultKind.FREEZE:
            self._stack.pause(fault.process)
            time.sleep(fault.seconds)
            self._stack.resume(fault.process)
        else:
            with full(self._stack.data_folder(fault.process)):
                time.sleep(fault.seconds)
        return lambda: self._stack.pid(fault.process) != 0

    def _running_pid(self, process: str) -> int:
        """Return the PID of the process, which may be restarting after its parent was killed."""
        wait_until(
            "there is something to harm", lambda: self._stack.pid(process) != 0, _THERE_SECONDS
        )
        return self._stack.pid(process)


@contextmanager
def quotas(stack_folder: Path) -> Iterator[bool]:
    """Mount a small file system at each server's data folder, and yield whether that was allowed.

    Mounting usually requires root.
    """
    mounted: list[Path] = []
    try:
        for server, mib in _QUOTA_MIB.items():
            folder = stack_folder / server
            folder.mkdir(parents=True)
            command = ("mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=0755", "tmpfs", str(folder))
            try:
                subprocess.run(command, check=True, capture_output=True, timeout=10)
            except (subprocess.CalledProcessError, OSError):
                yield False
                return
            mounted.append(folder)
        yield True
    finally:
        for folder in mounted:
            subprocess.run(("umount", "--lazy", str(folder)), check=True, timeout=10)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Fill the file system of ``folder`` while the block runs."""
    filler = folder / "filler"
    try:
        with filler.open("wb") as file, suppress(OSError):
            while True:
                file.write(b"\0" * _MIB)
                file.flush()
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(filler)
