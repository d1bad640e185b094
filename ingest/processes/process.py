"""The worker's handle of a capture process: start, command, reports, end."""

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
    # Each thread has an arena of its own otherwise, and keeps what it was given at its peak.
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class ProcessEnd:
    """How a process ended: its exit status (negative: minus the signal), and the thread that
    crashed (None: not known).
    """

    status: int
    crashed_thread_id: int | None


class CaptureProcess:
    """One running capture process. Started and commanded by one thread, which outlives it.

    The kernel ends the process with the thread that started it.
    """

    def __init__(
        self,
        settings: Configure,
        on_report: Callable[["CaptureProcess", Report], None],
        on_end: Callable[["CaptureProcess", ProcessEnd], None],
    ) -> None:
        """Start the process, and a thread that calls ``on_report`` and, once, ``on_end``.

        Raises:
            OSError: the machine has no room for it.
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
        """The process id."""
        return self._process.pid

    def command(self, command: Command) -> None:
        """Send a command. One to a process that has ended is lost."""
        try:
            self._connection.sendall(framed(command))
        except OSError:
            log.debug("capture_process_gone", pid=self.pid)

    def close(self) -> None:
        """Have the process end; returns immediately."""
        try:
            self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            log.debug("capture_process_gone", pid=self.pid)

    def kill(self) -> None:
        """End the process at once; returns before it has."""
        self._process.kill()

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the end; returns whether it came."""
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
                # It was taken over, or its memory is spoilt.
                log.error("capture_process_unintelligible", pid=self.pid)
                self.kill()
            # The edge of the thread: whatever it was, the cameras are captured elsewhere.
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
        # No secret: what strangers send is decoded there.
        env={**bare_environment(os.environ), **_ENVIRONMENT},
    )
