"""How much memory a process and its children take."""

import psutil

_MIB = 1024 * 1024


def memory_mib(pid: int, *, with_children: bool = True) -> float:
    """Return the memory in MiB, 0 where the process (or pid 0) is not there.

    Pages that several processes share are counted once between them.

    **Source:** proportional set size, proc(5), ``/proc/PID/smaps_rollup``.
    """
    if pid == 0:
        return 0.0
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)] if with_children else [root]
    except psutil.Error:
        return 0.0
    return sum(_pss_bytes(process) for process in family) / _MIB


def _pss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0
