"""Inspects operating-system processes. This is the stack's only module that uses psutil."""

import psutil

_MIB = 1024 * 1024


def memory_mib(pid: int, *, with_children: bool = True) -> float:
    """Return the memory of a process in MiB, or 0 if ``pid`` is 0 or the process does not exist.

    A shared page is divided among the processes that share it.

    **Source:** proportional set size, proc(5), ``/proc/PID/smaps_rollup``.
    """
    members = _family(pid) if with_children else _family(pid)[:1]
    return sum(_pss_bytes(member) for member in members) / _MIB


def wait_for_end(pid: int, *, seconds: float) -> bool:
    """Return whether a process, which need not be a child, exits within ``seconds``."""
    try:
        psutil.Process(pid).wait(seconds)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


def listener(port: int) -> str:
    """Return the ID and command of the process that listens on a TCP port, or "another process"."""
    try:
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
            if listens and connection.pid is not None:
                command = " ".join(psutil.Process(connection.pid).cmdline())
                return f"process {connection.pid} ({command[:100]})"
    except psutil.Error:
        pass
    return "another process"


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
