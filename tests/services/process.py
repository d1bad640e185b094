"""Servers of the local stack as child processes that a test can stop, kill and freeze."""

import os
import signal
import subprocess
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Self

from deploy.local.servers.base import Program, Server
from deploy.local.waiting import Progress, StartError, Waiter
from tests.services.families import signal_family

_READY_SECONDS = 90


class ChildProcess:
    """A program in a separate process group. It always ends with the test run."""

    def __init__(
        self, program: Program, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """Set the program without starting it. ``environment`` extends the current one."""
        self.program = program
        self.log = log
        self._environment = {**os.environ, **(environment or {}), **program.environment}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process ID of the started program, which is also the ID of its process group."""
        return self._started().pid

    def is_running(self) -> bool:
        """Return whether the process exists, frozen or not."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        """Exit status of the program (negative: the signal), or ``None`` while it runs."""
        return self._started().poll()

    def start(self) -> None:
        """Start the program, and return before it is ready."""
        assert not self.is_running(), f"{self.program.name} is running"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.program.command,
                cwd=self.program.directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def stop(self) -> None:
        """Ask the program to stop, as the supervisor does; fail if it has to be killed."""
        if not self.is_running():
            return
        self.resume()
        self._started().send_signal(self.program.stop_signal)
        try:
            self._started().wait(self.program.stop_seconds)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise AssertionError(f"{self.program.name} had to be killed\n{self.tail()}") from error
        finally:
            self._kill_group()

    def kill(self) -> None:
        """Kill the program and its children immediately (SIGKILL)."""
        if self.is_running():
            self._kill_group()
            self._started().wait(10)

    def pause(self) -> None:
        """Freeze the program and its children: connections stay, nothing responds (SIGSTOP)."""
        # Not by process group, because each child of PostgreSQL is in a separate group.
        signal_family(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Resume the program and its children (SIGCONT)."""
        signal_family(self.pid, signal.SIGCONT)

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])

    def _kill_group(self) -> None:
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def _started(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, f"{self.program.name} was never started"
        return self._process


class ServerProcess:
    """A server that a test run, or one test, owns. Use the server as a context manager."""

    def __init__(
        self, server: Server, logs: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """Take the server. Its data folder is created at the first start."""
        self.server = server
        logs.mkdir(parents=True, exist_ok=True)
        self.process = ChildProcess(server.program(), logs / f"{server.name}.log", environment)

    def start(self) -> None:
        """Start the server and wait until it responds; after :meth:`kill`, with the same data."""
        self.server.prepare()
        self.process.start()
        self.wait_until_ready()
        self.server.initialise()

    def wait_until_ready(self) -> None:
        try:
            waiter = Waiter(Progress(StringIO()))
            waiter.wait(self.server.name, self._check, seconds=_READY_SECONDS)
        except StartError as error:
            raise AssertionError(f"{error}\n{self.process.tail()}") from error

    def stop(self) -> None:
        """Stop the server gracefully."""
        self.process.stop()

    def kill(self) -> None:
        """Kill the server (SIGKILL)."""
        self.process.kill()

    def restart(self) -> None:
        """Kill the server, and start it again with the same data and port."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """Freeze the server (SIGSTOP)."""
        self.process.pause()

    def resume(self) -> None:
        """Resume the server (SIGCONT)."""
        self.process.resume()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _check(self) -> None:
        if not self.process.is_running():
            raise StartError(f"{self.server.name} ended")
        self.server.check()
