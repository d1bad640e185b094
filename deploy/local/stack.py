"""Starts and stops the servers and processes of the local stack, in order."""

import fcntl
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from hashlib import sha256

import urllib3

from common.child_environment import child_environment
from common.settings import SETTING_PREFIX
from deploy.local.files import Layout, write_whole
from deploy.local.plan import API, Migration, StackPlan
from deploy.local.ports import busy_ports
from deploy.local.servers.base import CLONE, NotReadyError, Server, check_port
from deploy.local.supervisor import (
    ProcessState,
    ProcessStatus,
    Supervisor,
    SupervisorUnreachableError,
    log_file,
)
from deploy.local.waiting import Progress, StartError, Waiter

_SUPERVISOR_SECONDS = 20
_SERVER_SECONDS = 90
_MIGRATION_SECONDS = 120
_API_SECONDS = 90
_ANSWER_SECONDS = 15
# A process that has run for this long does not exit because of its settings.
_STEADY_SECONDS = 4
_SETTLING_SECONDS = 60
_STOP_SECONDS = 120
_SHOWN_LOG_LINES = 25
_SHOWN_MIGRATION_BYTES = 4000
# common.settings.load_settings prints this text before it exits. supervisord does not report the
# exit status of a process that exits during its start.
_SETTINGS_FAULT = f"setting {SETTING_PREFIX}"


class LocalStack:
    """Controls the local stack of a plan. Methods can be called in any state, even concurrently."""

    def __init__(self, plan: StackPlan, progress: Progress, *, patience: float = 1.0) -> None:
        """``patience`` is a factor by which all timeouts are multiplied."""
        self.plan = plan
        self._patience = patience
        self._progress = progress
        self.waiter = Waiter(progress)
        self.supervisor = Supervisor(plan.layout)

    def is_up(self) -> bool:
        """Return whether every process has been running for at least a few seconds."""
        try:
            statuses = self.supervisor.statuses()
        except SupervisorUnreachableError:
            return False
        return all(status.up_seconds >= _STEADY_SECONDS for status in statuses)

    def up(self, *, tied_to_caller: bool = False, servers_only: bool = False) -> None:
        """Start everything that is not running, in order, and wait until the API is ready.

        With ``tied_to_caller``, the stack stops when the caller exits. With ``servers_only``, the
        service's own processes are not started.

        Raises:
            StartError: a process does not start. The message contains the end of the process's log.
        """
        self.waiter = Waiter(self._progress)
        with self._exclusively():
            self._start_supervisor(tied_to_caller=tied_to_caller)
            self._start_servers()
            if not servers_only:
                self._start_application()

    def down(self) -> None:
        """Stop everything, the service's own processes first, and wait until all have exited.

        Raises:
            StartError: supervisord is still running after two minutes.
        """
        with self._exclusively():
            try:
                ended = self.supervisor.shut_down(seconds=_STOP_SECONDS)
            except SupervisorUnreachableError:
                return
        if not ended:
            raise StartError(f"the supervisor did not stop; see {self.plan.layout.logs}")

    def _start_supervisor(self, *, tied_to_caller: bool) -> None:
        if self.supervisor.pid() is not None:
            self._refuse_other_settings()
            return
        busy = busy_ports(self.plan.ports())
        if busy:
            raise StartError("\n".join(busy))
        record_start(self.plan.layout, self.plan.environment)
        self.supervisor.start(
            self.plan.groups(), self.plan.process_environment(), tied_to_caller=tied_to_caller
        )
        self._wait("supervisor", self._check_supervisor, seconds=_SUPERVISOR_SECONDS)

    def _refuse_other_settings(self) -> None:
        changed = changed_settings(self.plan.layout, self.plan.environment)
        if changed:
            names = ", ".join(changed)
            message = "the stack is running with different settings; run `make down` first"
            raise StartError(f"{message}: {names}")

    def _check_supervisor(self) -> None:
        if self.supervisor.failed_to_start():
            raise StartError("supervisord exited during its start")
        if self.supervisor.pid() is None:
            raise NotReadyError("supervisord is not responding")

    def _start_servers(self) -> None:
        """Start the servers concurrently, and migrate each server as soon as it is ready."""
        embedded = {server.name for server in self.plan.servers}
        elsewhere = [m for m in self.plan.migrations if m.server not in embedded]
        steps = [partial(self._start_server, server) for server in self.plan.servers]
        steps += [partial(self._run_migration, migration) for migration in elsewhere]
        with ThreadPoolExecutor(max_workers=len(steps) or 1) as pool:
            try:
                for step in as_completed([pool.submit(step) for step in steps]):
                    step.result()
            except BaseException:
                # Cancel the other steps, because the start has failed, and Ctrl-C should not wait.
                self.waiter.give_up()
                raise

    def _start_server(self, server: Server) -> None:
        try:
            server.prepare()
        except subprocess.CalledProcessError as error:
            output = (error.stdout + error.stderr).decode(errors="replace")
            raise StartError(f"{server.name} could not be set up:\n{output}") from error
        self.supervisor.start_process(server.name)
        self._wait(server.name, server.check, seconds=_SERVER_SECONDS)
        server.initialise()
        for migration in self.plan.migrations:
            if migration.server == server.name:
                self._run_migration(migration)

    def _run_migration(self, migration: Migration) -> None:
        started, seconds = time.monotonic(), _MIGRATION_SECONDS * self._patience
        try:
            subprocess.run(
                migration.command,
                cwd=CLONE,
                env=child_environment(self.plan.environment, *migration.settings),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            output = error.stdout[-_SHOWN_MIGRATION_BYTES:].decode(errors="replace")
            raise StartError(f"{migration.name} could not be upgraded:\n{output}") from error
        except subprocess.TimeoutExpired as error:
            raise StartError(f"{migration.name} was not ready after {seconds:.0f} s") from error
        self._progress.ready(migration.name, time.monotonic() - started)

    def _start_application(self) -> None:
        """Start the service's processes. The API is first, because it takes longest to be ready."""
        names = [program.name for program in self.plan.application]
        if API in names:
            self.supervisor.start_process(API)
            self._wait(API, self._check_api, seconds=_API_SECONDS)
        others = [name for name in names if name != API]
        for name in others:
            self.supervisor.start_process(name)
        for name in others:
            seconds = _STEADY_SECONDS + _SETTLING_SECONDS
            self._wait(name, partial(self._check_ready, name), seconds=seconds)

    def _check_ready(self, name: str) -> None:
        status = self._status(name)
        if status is None or status.up_seconds < _STEADY_SECONDS:
            raise NotReadyError("just started")
        if name in self.plan.ready_urls:
            self._check_page(self.plan.ready_urls[name])

    def _check_api(self) -> None:
        check_port(self.plan.api_port)
        self._check_page(self.plan.ready_urls.get(API, f"{self.plan.base_url}/healthz"))

    def _check_page(self, url: str) -> None:
        try:
            answer = urllib3.request("GET", url, timeout=_ANSWER_SECONDS, retries=False)
        except urllib3.exceptions.HTTPError as error:
            raise NotReadyError(f"{url}: {error}") from error
        if answer.status != 200:
            raise NotReadyError(f"{url} returned {answer.status}")

    def _wait(self, what: str, check: Callable[[], None], *, seconds: float) -> None:
        checked = partial(self._check_with_state, what, check)
        try:
            self.waiter.wait(what, checked, seconds=seconds * self._patience)
        except StartError as error:
            raise StartError(f"{error}\n{self.last_lines(what)}") from error

    def _check_with_state(self, what: str, check: Callable[[], None]) -> None:
        """Run ``check`` and report if the process keeps exiting.

        Raises:
            NotReadyError: ``check`` failed. The message says if the process keeps exiting.
            StartError: the process rejected its settings, so waiting cannot help.
        """
        try:
            check()
        except NotReadyError as error:
            status = self._status(what)
            if status is None or status.state in (ProcessState.RUNNING, ProcessState.STARTING):
                raise
            if self.last_lines(what).splitlines()[-1].startswith(_SETTINGS_FAULT):
                raise StartError(f"{what} rejected its settings") from error
            raise NotReadyError(f"{error}; its process keeps exiting") from error

    def _status(self, name: str) -> ProcessStatus | None:
        try:
            return next((s for s in self.supervisor.statuses() if s.name == name), None)
        except SupervisorUnreachableError:
            return None

    def last_lines(self, name: str) -> str:
        """Return the last lines of a process's log file, after a line with the file's name."""
        file = log_file(self.plan.layout, name)
        if not file.exists():
            return f"(no log at {file})"
        lines = file.read_text(errors="replace").splitlines()[-_SHOWN_LOG_LINES:]
        return "\n".join((f"last lines of {file}:", *lines))

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Prevent other processes from starting or stopping the same stack during the block."""
        with (self.plan.layout.root / "stack.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def record_start(layout: Layout, environment: Mapping[str, str]) -> None:
    """Store digests of the settings with which the stack is started."""
    write_whole(layout.started_with, json.dumps(_digests(environment)), mode=0o600)


def changed_settings(layout: Layout, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the settings that have changed since the stack was started."""
    file = layout.started_with
    before = json.loads(file.read_bytes()) if file.exists() else {}
    now = _digests(environment)
    return tuple(sorted(name for name in {*before, *now} if before.get(name) != now.get(name)))


def _digests(environment: Mapping[str, str]) -> dict[str, str]:
    # Store digests, because some values are secret.
    return {
        name: sha256(value.encode()).hexdigest()[:16]
        for name, value in environment.items()
        if name.startswith(SETTING_PREFIX)
    }
