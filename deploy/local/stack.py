"""Bring the local stack up and down."""

import fcntl
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import psutil
import urllib3

from deploy.local.plan import Migration, StackPlan
from deploy.local.ports import busy_ports
from deploy.local.servers.base import CLONE, NotReadyError, Server
from deploy.local.supervisor import (
    ProcessState,
    ProcessStatus,
    Supervisor,
    SupervisorUnreachableError,
    log_file,
)
from deploy.local.waiting import Progress, StartError, wait_until_ready

_SUPERVISOR_SECONDS = 20
_SERVER_SECONDS = 90
_MIGRATION_SECONDS = 120
_API_SECONDS = 90
_STOP_SECONDS = 120
_SHOWN_LOG_LINES = 25
# EX_CONFIG of sysexits.h: contracts.settings ends a process with it when a setting is wrong.
_WRONG_SETTINGS_EXIT = 78


class LocalStack:
    """The stack of one plan. Every method may be called in any state and by several processes."""

    def __init__(self, plan: StackPlan, progress: Progress) -> None:
        """Take the plan; nothing is started."""
        self.plan = plan
        self._progress = progress
        self.supervisor = Supervisor(plan.layout)

    def is_up(self) -> bool:
        """Return whether every process has been started and runs."""
        try:
            statuses = self.supervisor.statuses()
        except SupervisorUnreachableError:
            return False
        return all(status.state is ProcessState.RUNNING for status in statuses)

    def up(self, *, tied_to_caller: bool = False) -> None:
        """Start what is not running, in order, and wait until the API answers.

        Raises:
            StartError: something does not come up; the message holds the end of its log.
        """
        with self._exclusively():
            self._start_supervisor(tied_to_caller=tied_to_caller)
            self._start_servers()
            self._migrate()
            self._start_application()

    def down(self) -> None:
        """Stop everything, application first, and wait for its end.

        Raises:
            StartError: supervisord is still there after two minutes.
        """
        with self._exclusively():
            pid = self.supervisor.pid()
            if pid is None:
                return
            process = psutil.Process(pid)
            self.supervisor.shut_down()
            try:
                process.wait(timeout=_STOP_SECONDS)
            except psutil.TimeoutExpired as error:
                raise StartError(f"the supervisor (process {pid}) does not end") from error

    def _start_supervisor(self, *, tied_to_caller: bool) -> None:
        if self.supervisor.pid() is not None:
            return
        self._refuse_busy_ports()
        self.supervisor.start(
            self.plan.groups(), self.plan.environment, tied_to_caller=tied_to_caller
        )
        self._wait("supervisor", self._check_supervisor, seconds=_SUPERVISOR_SECONDS)

    def _check_supervisor(self) -> None:
        if self.supervisor.pid() is None:
            raise NotReadyError("supervisord does not answer")

    def _refuse_busy_ports(self) -> None:
        busy = busy_ports(self.plan.ports())
        if busy:
            raise StartError("\n".join(busy))

    def _start_servers(self) -> None:
        servers = self.plan.servers
        with ThreadPoolExecutor(max_workers=len(servers) or 1) as pool:
            list(pool.map(self._prepare_and_start, servers))
        for server in servers:
            self._wait(server.name, server.check, seconds=_SERVER_SECONDS)
            server.initialise()

    def _prepare_and_start(self, server: Server) -> None:
        try:
            server.prepare()
        except subprocess.CalledProcessError as error:
            told = (error.stdout + error.stderr).decode(errors="replace")
            raise StartError(f"{server.name} cannot be set up:\n{told}") from error
        self.supervisor.start_process(server.name)

    def _migrate(self) -> None:
        migrations = self.plan.migrations
        with ThreadPoolExecutor(max_workers=len(migrations) or 1) as pool:
            list(pool.map(self._run_migration, migrations))

    def _run_migration(self, migration: Migration) -> None:
        started = time.monotonic()
        result = subprocess.run(
            migration.command,
            cwd=CLONE,
            env=dict(self.plan.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_MIGRATION_SECONDS,
            check=False,
        )
        if result.returncode != 0:
            told = result.stdout.decode(errors="replace")[-4000:]
            raise StartError(f"{migration.name} cannot be brought up to date:\n{told}")
        self._progress.done(migration.name, time.monotonic() - started)

    def _start_application(self) -> None:
        for program in self.plan.application:
            self.supervisor.start_process(program.name)
        if self.plan.application:
            self._wait("api", self._check_api, seconds=_API_SECONDS)

    def _check_api(self) -> None:
        try:
            answer = urllib3.request(
                "GET", f"{self.plan.base_url}/readyz", timeout=5, retries=False
            )
        except urllib3.exceptions.HTTPError as error:
            raise NotReadyError(f"/readyz: {error}") from error
        if answer.status != 200:
            raise NotReadyError(f"/readyz answers {answer.status}")

    def _wait(self, what: str, check: Callable[[], None], *, seconds: float) -> None:
        checked = partial(self._check_with_state, what, check)
        try:
            wait_until_ready(what, checked, self._progress, seconds=seconds)
        except StartError as error:
            raise StartError(f"{error}\n{self.last_lines(what)}") from error

    def _check_with_state(self, what: str, check: Callable[[], None]) -> None:
        """Check; tell beside the answer whether the process keeps failing.

        Raises:
            NotReadyError: as ``check`` says, and what state the process is in.
            StartError: it can never come up, because it refuses its settings.
        """
        try:
            check()
        except NotReadyError as error:
            status = self._status(what)
            if status is None or status.state in (ProcessState.RUNNING, ProcessState.STARTING):
                raise
            if status.exit_status == _WRONG_SETTINGS_EXIT:
                raise StartError(f"{what} refuses its settings") from error
            told = f"{error}; its process ended with status {status.exit_status}"
            raise NotReadyError(told) from error

    def _status(self, name: str) -> ProcessStatus | None:
        try:
            return next((s for s in self.supervisor.statuses() if s.name == name), None)
        except SupervisorUnreachableError:
            return None

    def last_lines(self, name: str) -> str:
        """Return the end of a process's log, with the file's name."""
        file = log_file(self.plan.layout, name)
        if not file.exists():
            return f"(no log at {file})"
        lines = file.read_text(errors="replace").splitlines()[-_SHOWN_LOG_LINES:]
        return "\n".join((f"the last lines of {file}:", *lines))

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Hold back a second start or stop of the same stack until this one is done."""
        with (self.plan.layout.root / "stack.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
