"""Configures and controls supervisord. No other module uses supervisord.

A process is restarted indefinitely. The delay grows by one second after each failed start, and is
reset after a successful start.
"""

import http.client
import os
import shlex
import subprocess
import sys
import tempfile
import xmlrpc.client
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from supervisor.xmlrpc import Faults, SupervisorTransport

from deploy.local.files import Layout, write_whole
from deploy.local.processes import wait_for_end
from deploy.local.servers.base import Program, tied

# A UNIX socket's path has at most 108 bytes (unix(7)), and supervisord appends a PID when it binds.
_LONGEST_SOCKET_PATH = 90
# If a process exits sooner, supervisord counts a failed start and delays the next attempt.
_START_SECONDS = 10
_START_RETRIES = 1_000_000_000


class ProcessState(StrEnum):
    """supervisord's process states.

    **Source:** Supervisor manual, "Process States".
    """

    STOPPED = "STOPPED"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    BACKOFF = "BACKOFF"
    STOPPING = "STOPPING"
    EXITED = "EXITED"
    FATAL = "FATAL"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class ProcessStatus:
    """The state of one process. ``pid`` and ``up_seconds`` are 0 unless the process is running."""

    name: str
    group: str
    state: ProcessState
    pid: int
    up_seconds: int


class SupervisorUnreachableError(Exception):
    """supervisord is not responding, so the stack is not running."""


class Supervisor:
    """The supervisord of one local stack."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._socket = socket_path(layout)
        self._child: subprocess.Popen[bytes] | None = None

    def start(
        self,
        groups: Mapping[str, Sequence[Program]],
        environment: Mapping[str, str],
        *,
        tied_to_caller: bool,
    ) -> None:
        """Start supervisord, but no process yet. Each process will get a part of ``environment``.

        With ``tied_to_caller``, supervisord and all processes stop when the caller exits.
        """
        # Drop names that are not identifiers. Shells export functions under such names.
        held = {name: value for name, value in environment.items() if name.isidentifier()}
        text = render_configuration(self._layout, self._socket, groups, held)
        configuration = self._layout.root / "supervisor.conf"
        write_whole(configuration, text, mode=0o600)
        command = (sys.executable, "-m", "supervisor.supervisord", "-c", str(configuration))
        with (self._layout.logs / "supervisor.log").open("ab") as log:
            self._child = subprocess.Popen(
                tied(*command) if tied_to_caller else command,
                env=held,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def pid(self) -> int | None:
        """Return supervisord's PID, or None if supervisord is not responding."""
        try:
            return int(self._call("getPID"))
        except SupervisorUnreachableError:
            return None

    def failed_to_start(self) -> bool:
        """Return whether the supervisord that this object started has exited."""
        return self._child is not None and self._child.poll() is not None

    def statuses(self) -> tuple[ProcessStatus, ...]:
        """Return the state of all processes.

        Raises:
            SupervisorUnreachableError: the stack is not running.
        """
        return tuple(_status(entry) for entry in self._call("getAllProcessInfo"))

    def status(self, name: str) -> ProcessStatus:
        """Return the state of one process.

        Raises:
            SupervisorUnreachableError: the stack is not running.
        """
        return next(status for status in self.statuses() if status.name == name)

    def start_process(self, name: str) -> None:
        """Start a process unless it has already been started.

        Raises:
            SupervisorUnreachableError: the stack is not running.
        """
        with _tolerating(Faults.ALREADY_STARTED):
            self._call("startProcess", f"{self.status(name).group}:{name}", False)

    def stop_process(self, name: str) -> None:
        """Stop a process without a restart, and wait until the process has exited.

        Raises:
            SupervisorUnreachableError: the stack is not running.
        """
        with _tolerating(Faults.NOT_RUNNING):
            self._call("stopProcess", f"{self.status(name).group}:{name}", True)

    def shut_down(self, *, seconds: float) -> bool:
        """Stop all processes, the service's own first, and wait until supervisord has exited.

        Return False if supervisord is still running after ``seconds``.

        Raises:
            SupervisorUnreachableError: the stack is not running.
        """
        pid = int(self._call("getPID"))
        self._call("shutdown")
        ended = wait_for_end(pid, seconds=seconds)
        if self._child is not None:
            self._child.poll()
        return ended

    def _call(self, method: str, *arguments: object) -> Any:
        transport = SupervisorTransport(serverurl=f"unix://{self._socket}")
        proxy = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)
        try:
            return getattr(proxy.supervisor, method)(*arguments)
        except (OSError, http.client.HTTPException) as error:
            raise SupervisorUnreachableError(f"no supervisor at {self._socket}") from error
        finally:
            transport.close()


@contextmanager
def _tolerating(code: int) -> Iterator[None]:
    try:
        yield
    except xmlrpc.client.Fault as fault:
        if fault.faultCode != code:
            raise


def socket_path(layout: Layout) -> Path:
    """Return the path of supervisord's socket. The socket is in the stack's folder or, if that path
    would be too long, in this user's folder in the system's temporary folder.
    """
    preferred = layout.root / "supervisor.sock"
    if len(os.fsencode(preferred)) <= _LONGEST_SOCKET_PATH:
        return preferred
    name = sha256(os.fsencode(layout.root)).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"platestream-{os.geteuid()}-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder / "supervisor.sock"


def render_configuration(
    layout: Layout,
    socket: Path,
    groups: Mapping[str, Sequence[Program]],
    environment: Mapping[str, str],
) -> str:
    """Return supervisord's configuration.

    The configuration does not contain the values of ``environment``, because supervisord is started
    with this environment. Each process first unsets the variables that it must not have. ``groups``
    start in order and stop in reverse order.
    """
    # Naming the user prevents a warning at each start that supervisord runs as root.
    user = "user=root\n" if os.geteuid() == 0 else ""
    sections = [
        "[supervisord]\nnodaemon=true\nsilent=true\n"
        f"{user}"
        f"logfile={_literal(layout.logs / 'supervisor.log')}\n"
        "logfile_maxbytes=5MB\nlogfile_backups=1\n"
        f"pidfile={_literal(layout.root / 'supervisor.pid')}\n"
        f"childlogdir={_literal(layout.logs)}\n",
        f"[unix_http_server]\nfile={_literal(socket)}\nchmod=0700\n",
        "[rpcinterface:supervisor]\n"
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n",
    ]
    for priority, (group, programs) in enumerate(groups.items(), start=1):
        names = ",".join(program.name for program in programs)
        if programs:
            sections.append(f"[group:{group}]\nprograms={names}\npriority={priority}\n")
        sections += [_program(layout, program, environment) for program in programs]
    return "\n".join(sections)


def _program(layout: Layout, program: Program, environment: Mapping[str, str]) -> str:
    log = log_file(layout, program.name)
    # Only the main process gets the stop signal, and then stops its workers. If processes are still
    # running after stopwaitsecs, the whole group is killed.
    return (
        f"[program:{program.name}]\n"
        f"command={_literal(shlex.join(_with_its_part(program, environment)))}\n"
        f"directory={_literal(program.directory)}\n"
        "autostart=false\nautorestart=true\n"
        f"startsecs={_START_SECONDS}\nstartretries={_START_RETRIES}\n"
        f"stopsignal={program.stop_signal.name.removeprefix('SIG')}\n"
        f"stopwaitsecs={program.stop_seconds}\nstopasgroup=false\nkillasgroup=true\n"
        # Unlike other values, log file names are expanded twice.
        f"redirect_stderr=true\nstdout_logfile={_literal(_literal(log))}\n"
        "stdout_logfile_maxbytes=20MB\nstdout_logfile_backups=2\n"
    )


def _with_its_part(program: Program, environment: Mapping[str, str]) -> tuple[str, ...]:
    # Unset variables first, so that a command that switches users never has these variables.
    part = program.environment_within(environment)
    dropped = (("-u", name) for name in environment if name not in part)
    return ("env", *(word for pair in dropped for word in pair), *program.command)


def log_file(layout: Layout, name: str) -> Path:
    """Return the log file of a process."""
    return layout.logs / f"{name}.log"


def _literal(value: object) -> str:
    """Return a value in which percent signs are escaped, so that supervisord expands nothing."""
    return str(value).replace("%", "%%")


def _status(entry: dict[str, Any]) -> ProcessStatus:
    state = ProcessState(entry["statename"])
    there = state in (ProcessState.STARTING, ProcessState.RUNNING)
    return ProcessStatus(
        name=entry["name"],
        group=entry["group"],
        state=state,
        pid=entry["pid"],
        up_seconds=max(0, entry["now"] - entry["start"]) if there else 0,
    )
