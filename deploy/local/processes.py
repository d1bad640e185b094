"""The operating system's processes. The only module of the stack with psutil."""

from collections.abc import Iterator
from pathlib import Path

import psutil

_MIB = 1024 * 1024


def memory_mib(pid: int, *, with_children: bool = True) -> float:
    """Return the memory in MiB, 0 where the process (or pid 0) is not there.

    Pages that several processes share are counted once between them.

    **Source:** proportional set size, proc(5), ``/proc/PID/smaps_rollup``.
    """
    members = _family(pid) if with_children else _family(pid)[:1]
    return sum(_pss_bytes(member) for member in members) / _MIB


def wait_for_end(pid: int, *, seconds: float) -> bool:
    """Wait until a process has ended, child or not; False where it has not after ``seconds``."""
    try:
        psutil.Process(pid).wait(seconds)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


def parents_at(folder: Path) -> dict[int, int]:
    """Return the processes whose working folder this is, each with its parent's id."""
    found = psutil.process_iter(["cwd", "ppid"])
    at = str(folder.resolve())
    return {process.pid: process.info["ppid"] for process in found if process.info["cwd"] == at}


def listeners(port: int) -> Iterator[str]:
    """Yield pid and command of what listens on a TCP port, as far as this user may know."""
    try:
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:
        return
    for connection in connections:
        listens = connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
        if listens and connection.pid is not None:
            yield _described(connection.pid)


def _described(pid: int) -> str:
    try:
        return f"process {pid} ({' '.join(psutil.Process(pid).cmdline())[:100]})"
    except psutil.Error:
        return f"process {pid}"


def _family(pid: int) -> list[psutil.Process]:
    if pid == 0:
        return []
    try:
        main = psutil.Process(pid)
        return [main, *main.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _pss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0
