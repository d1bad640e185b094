"""Starts and controls a capture process, and receives its reports."""

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
import structlog

from common.child_environment import bare_environment
from ingest.capture.messages import Command, Configure, Report, framed, read_report

log = structlog.get_logger(__name__)

PROGRAM_MODULE = "ingest.processes.program"
_CRASHED_THREAD: Final = re.compile(rb"^Current thread 0x([0-9a-f]+)", re.MULTILINE)
_MAX_CRASH_BYTES: Final = 65_536
_REAP_SECONDS: Final = 10.0
_ENVIRONMENT: Final = {
    # Otherwise, each thread has a separate arena, which never shrinks below its peak size.
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class ProcessEnd:
    """Exit status of a process (negative: minus the signal), and the crashed thread, if known."""

    status: int
    crashed_thread_id: int | None


class CaptureProcess:
    """A running capture process. Only the thread that started the process can command it.

    The kernel kills the process when that thread ends.
    """

    def __init__(
        self,
        settings: Configure,
        on_report: Callable[["CaptureProcess", Report], None],
        on_end: Callable[["CaptureProcess", ProcessEnd], None],
    ) -> None:
        """Start the process, and a thread that calls ``on_report`` and, once, ``on_end``.

        Raises:
            OSError: the machine lacks resources for the process.
        """
        self._on_report = on_report
        self._on_end = on_end
        self._connection, theirs = socket.socketpair()
        self._crash_descriptor = os.memfd_create("crash")
        with theirs:
            try:
                self._process = _spawn(theirs.fileno(), self._crash_descriptor)
            except OSError:
                self._connection.close()
                os.close(self._crash_descriptor)
                raise
        self.command(settings)
        name = f"capture-{self._process.pid}"
        self._thread = threading.Thread(target=self._listen, name=name, daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """The process ID."""
        return self._process.pid

    def command(self, command: Command) -> None:
        """Send a command. The command is lost if the process has ended."""
        try:
            self._connection.sendall(framed(command))
        except OSError:
            log.debug("capture_process_exited", pid=self.pid)

    def close(self) -> None:
        """Ask the process to end, without waiting for its end."""
        try:
            self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            log.debug("capture_process_exited", pid=self.pid)

    def kill(self) -> None:
        """Kill the process without waiting for its end."""
        self._process.kill()

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the process to end. Return whether it ended in time."""
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _listen(self) -> None:
        with self._connection.makefile("rb") as reports:

            def read_exactly(size: int) -> bytes:
                data = reports.read(size)
                if len(data) < size:
                    raise EOFError
                return data

            try:
                while True:
                    self._on_report(self, read_report(read_exactly))
            except (EOFError, OSError):
                pass
            except (msgspec.MsgspecError, ValueError):
                # The report is invalid: the process was compromised, or its memory is corrupted.
                log.error("capture_report_unreadable", pid=self.pid)
                self.kill()
            # Other processes take over the cameras after any error.
            except Exception:
                log.exception("capture_report_failed", pid=self.pid)
                self.kill()
        self._on_end(self, self._collect())

    def _collect(self) -> ProcessEnd:
        self.close()
        try:
            status = self._process.wait(_REAP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            status = self._process.wait()
        self._connection.close()
        report = os.pread(self._crash_descriptor, _MAX_CRASH_BYTES, 0)
        os.close(self._crash_descriptor)
        crashed = _CRASHED_THREAD.search(report)
        return ProcessEnd(status, None if crashed is None else int(crashed[1], 16))


def _spawn(theirs: int, crash_descriptor: int) -> "subprocess.Popen[bytes]":
    arguments = (str(theirs), str(crash_descriptor), str(os.getpid()))
    return subprocess.Popen(
        [sys.executable, "-m", PROGRAM_MODULE, *arguments],
        pass_fds=(theirs, crash_descriptor),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        # Pass no secrets, because the process decodes untrusted data.
        env={**bare_environment(os.environ), **_ENVIRONMENT},
    )
