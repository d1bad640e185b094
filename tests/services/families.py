"""Signals to a process and its descendants."""

from contextlib import suppress
from signal import Signals

import psutil


def signal_family(pid: int, number: Signals) -> None:
    """Send a signal to a process and all its descendants."""
    for member in _family(pid):
        with suppress(psutil.NoSuchProcess):
            member.send_signal(number)


def running_below(pid: int, module: str) -> tuple[int, ...]:
    """Return the descendants of a process that run a Python module with ``python -m module``."""
    return tuple(member.pid for member in _family(pid)[1:] if module in _command(member))


def _family(pid: int) -> list[psutil.Process]:
    try:
        main = psutil.Process(pid)
        return [main, *main.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
