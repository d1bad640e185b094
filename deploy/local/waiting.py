"""Waiting for something with a deadline, and telling a person about it."""

import threading
import time
from collections.abc import Callable
from typing import TextIO

from deploy.local.servers.base import NotReadyError

_POLL_SECONDS = 0.1
_FIRST_TOLD_SECONDS = 10.0
_CLEAR_LINE = "\r\033[K"


class StartError(Exception):
    """The stack cannot come up; the message tells a person why and what to do."""


class Progress:
    """Prints what is waited for, and one line for each thing that came, with the time it took.

    Several threads may wait at once.
    """

    def __init__(self, out: TextIO) -> None:
        """Write to ``out``; on a terminal the last line always says what is still missing."""
        self._out = out
        self._terminal = out.isatty()
        self._lock = threading.Lock()
        self._pending: list[str] = []

    def begin(self, what: str) -> None:
        """Say that ``what`` is waited for now."""
        with self._lock:
            self._pending.append(what)
            self._show()

    def done(self, what: str, seconds: float) -> None:
        """Say that ``what`` is there."""
        with self._lock:
            self._pending.remove(what)
            self._show(f"  {what:<16} ready   {seconds:6.1f} s")

    def still(self, what: str, seconds: float, why: str) -> None:
        """Say why ``what`` takes its time."""
        with self._lock:
            self._show(f"  {what:<16} waiting {seconds:6.1f} s  ({why})")

    def failed(self, what: str) -> None:
        """Forget ``what``; the error itself tells the rest."""
        with self._lock:
            self._pending.remove(what)
            self._show()

    def _show(self, line: str = "") -> None:
        text = f"{line}\n" if line else ""
        if self._terminal:
            waiting = f"  waiting for {', '.join(self._pending)} ..." if self._pending else ""
            text = _CLEAR_LINE + text + waiting
        self._out.write(text)
        self._out.flush()


class Waiter:
    """Waits until checks pass; one call ends all its waits."""

    def __init__(self, progress: Progress, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Report to ``progress``."""
        self._progress = progress
        self._clock = clock
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """End every wait, in whatever thread, with a :class:`StartError`."""
        self._given_up.set()

    def wait(self, what: str, check: Callable[[], None], *, seconds: float) -> None:
        """Call ``check`` until it raises no :class:`NotReadyError`.

        Raises:
            StartError: that took longer than ``seconds``, or all waits were given up.
        """
        started = self._clock()
        self._progress.begin(what)
        try:
            self._poll(what, check, started, seconds)
        except BaseException:
            self._progress.failed(what)
            raise
        self._progress.done(what, self._clock() - started)

    def _poll(self, what: str, check: Callable[[], None], started: float, seconds: float) -> None:
        telling = started + _FIRST_TOLD_SECONDS
        while True:
            try:
                return check()
            except NotReadyError as error:
                now = self._clock()
                if now - started > seconds:
                    sentence = f"{what} is not ready after {seconds:.0f} s: {error}"
                    raise StartError(sentence) from error
                if now > telling:
                    # Each pause as long as all the waiting before: a long wait fills no screen.
                    telling = now + (now - started)
                    self._progress.still(what, now - started, str(error))
            if self._given_up.wait(_POLL_SECONDS):
                raise StartError(f"gave up waiting for {what}")
