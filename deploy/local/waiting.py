"""Waiting for something with a deadline, and telling a person about it."""

import time
from collections.abc import Callable
from typing import TextIO

from deploy.local.servers.base import NotReadyError

_POLL_SECONDS = 0.1
_TELL_EVERY_SECONDS = 10.0


class StartError(Exception):
    """The stack cannot come up; the message tells a person why and what to do."""


class Progress:
    """Prints what is waited for, one line each, with the time it took."""

    def __init__(self, out: TextIO) -> None:
        """Write to ``out``; rewrite lines where that is a terminal."""
        self._out = out
        self._terminal = out.isatty()

    def begin(self, what: str) -> None:
        """Say that ``what`` is waited for now."""
        if self._terminal:
            self._write(f"\r\033[K  {what} ...", end="")

    def done(self, what: str, seconds: float, outcome: str = "ready") -> None:
        """Say that ``what`` is there."""
        clear = "\r\033[K" if self._terminal else ""
        self._write(f"{clear}  {what:<18} {outcome:<8} {seconds:6.1f} s")

    def still(self, what: str, seconds: float, why: str) -> None:
        """Say why ``what`` takes its time."""
        clear = "\r\033[K" if self._terminal else ""
        self._write(f"{clear}  {what:<18} waiting  {seconds:6.1f} s  ({why})")

    def say(self, text: str) -> None:
        """Print a line."""
        self._write(text)

    def _write(self, text: str, end: str = "\n") -> None:
        self._out.write(text + end)
        self._out.flush()


def wait_until_ready(
    what: str,
    check: Callable[[], None],
    progress: Progress,
    *,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Call ``check`` until it raises no :class:`NotReadyError`.

    Raises:
        StartError: that took longer than ``seconds``.
    """
    started = told = clock()
    progress.begin(what)
    while True:
        try:
            check()
        except NotReadyError as error:
            now = clock()
            if now - started > seconds:
                raise StartError(f"{what} is not ready after {seconds:.0f} s: {error}") from error
            if now - told > _TELL_EVERY_SECONDS:
                told = now
                progress.still(what, now - started, str(error))
            pause(_POLL_SECONDS)
        else:
            progress.done(what, clock() - started)
            return
