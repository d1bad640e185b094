"""Waits until checks pass, with a timeout, and prints the progress."""

import threading
import time
from collections.abc import Callable
from typing import TextIO

from deploy.local.servers.base import NotReadyError

_POLL_SECONDS = 0.1
_FIRST_TOLD_SECONDS = 10.0


class StartError(Exception):
    """The stack cannot start. The message contains the reason and what to do."""


class Progress:
    """Prints a line for each component that becomes ready, with the time it took."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def ready(self, what: str, seconds: float) -> None:
        """Report that ``what`` is ready."""
        self._print(f"  {what:<16} ready   {seconds:6.1f} s")

    def waiting(self, what: str, seconds: float, why: str) -> None:
        """Report why ``what`` is not ready yet."""
        self._print(f"  {what:<16} waiting {seconds:6.1f} s  ({why})")

    def _print(self, line: str) -> None:
        # Several threads report concurrently. A single write keeps each line in one piece.
        self._out.write(f"{line}\n")
        self._out.flush()


class Waiter:
    """Waits until checks pass, or until :meth:`give_up` ends the waits of all threads."""

    def __init__(self, progress: Progress, *, clock: Callable[[], float] = time.monotonic) -> None:
        """``progress`` reports components that become ready or that are not ready yet."""
        self._progress = progress
        self._clock = clock
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """End the waits of all threads with a :class:`StartError`."""
        self._given_up.set()

    def wait(self, what: str, check: Callable[[], None], *, seconds: float) -> None:
        """Call ``check`` until it does not raise :class:`NotReadyError`.

        Raises:
            StartError: ``check`` failed for ``seconds``, or :meth:`give_up` was called.
        """
        started = self._clock()
        self._poll(what, check, started, seconds)
        self._progress.ready(what, self._clock() - started)

    def _poll(self, what: str, check: Callable[[], None], started: float, seconds: float) -> None:
        telling = started + _FIRST_TOLD_SECONDS
        while True:
            try:
                return check()
            except NotReadyError as error:
                now = self._clock()
                if now - started > seconds:
                    sentence = f"{what} was not ready after {seconds:.0f} s: {error}"
                    raise StartError(sentence) from error
                if now > telling:
                    # The interval doubles each time, so that a long wait prints few lines.
                    telling = now + (now - started)
                    self._progress.waiting(what, now - started, str(error))
            if self._given_up.wait(_POLL_SECONDS):
                raise StartError(f"stopped waiting for {what}")
