"""The whole local stack for end-to-end and fault tests: real servers, processes and free ports."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Self, TypeVar

from pydantic_settings import BaseSettings

from deploy.local.access import Access, ensure_access
from deploy.local.plan import API, StackPlan, make_plan
from deploy.local.ports import free_ports, free_range
from deploy.local.servers.base import Program
from deploy.local.settings import LocalStackSettings
from deploy.local.stack import LocalStack
from deploy.local.supervisor import ProcessState
from deploy.local.waiting import Progress
from recognition.workers.process import WORKER_MODULE
from tests.services.cable import Cable
from tests.services.families import running_below, signal_family
from tests.services.kafka_cluster import link_ports, over_the_cable, with_brokers
from tests.services.tuned import VARIABLE

_PREFIX = "PLATESTREAM_"
_PORT_SETTINGS = (
    "api_port",
    "s3_port",
    "postgres_port",
    "clickhouse_port",
)
_DEFAULTS = {
    "RATE_LIMIT_PER_MINUTE": "0",
    "RATE_LIMIT_RECOGNIZE_PER_MINUTE": "0",
    "CAMERA_FILES_FOLDER": gettempdir(),
}
_Settings = TypeVar("_Settings", bound=BaseSettings)


class RunningStack:
    """A local stack in a separate folder, which runs for the duration of the ``with`` block.

    ``settings`` are environment variables without their prefix (``{"INGEST_SAMPLE_FPS": "25"}``);
    each process gets only the settings that it uses. By default, the API has no request limits,
    because tests call it in loops, and cameras play the clips of the tests.
    """

    def __init__(
        self,
        folder: Path,
        settings: dict[str, str] | None = None,
        *,
        second_workers: Sequence[str] = (),
        brokers: int = 1,
        cable: Cable | None = None,
        elsewhere: Callable[[StackPlan], StackPlan] | None = None,
        patience: float = 1.0,
    ) -> None:
        """Take the folder, settings, and constants by their full names. Nothing is started.

        Stages in ``second_workers`` have a second worker, which :func:`second_name` names. The
        second workers reach Kafka (``brokers`` brokers) over ``cable``, if given. ``elsewhere``
        returns the plan with programs from other files. All start timeouts are multiplied by
        ``patience``.
        """
        ports = dict(zip(_PORT_SETTINGS, free_ports(len(_PORT_SETTINGS)), strict=True))
        # The broker has a second port, and each process adds an offset to the metrics port.
        ports |= {"kafka_port": free_range(2), "metrics_port": free_range(8)}
        changed = _DEFAULTS | (settings or {})
        given = {_PREFIX + name: value for name, value in changed.items() if "." not in name}
        tuned = [f"{name}={value}" for name, value in changed.items() if "." in name]
        own = {
            name: given[variable]
            for variable, name in LocalStackSettings.environment_names().items()
            if variable in given
        }
        local = LocalStackSettings.model_validate({"local_dir": folder, **ports, **own})
        outside = {k: v for k, v in os.environ.items() if not k.startswith(_PREFIX)}
        self.folder = folder
        self.cable = cable
        self._out = StringIO()
        plan = make_plan(local, {**outside, **given})
        if tuned:
            plan = replace(plan, application=tuple(_tuned(p, tuned) for p in plan.application))
        if brokers > 1 or cable is not None:
            plan = with_brokers(plan, brokers, cable)
        if elsewhere is not None:
            plan = elsewhere(plan)
        (second_port,) = free_ports(1)
        others = [
            _second(each, folder, second_port)
            for each in plan.application
            if each.name in second_workers
        ]
        self._second_port = second_port if API in second_workers else None
        if cable is not None:
            others = [_over(cable, each, plan) for each in others]
            cable.ports = link_ports(plan)
        plan = replace(plan, application=(*plan.application, *others))
        self._stack = LocalStack(plan, Progress(self._out), patience=patience)
        self._things = ExitStack()
        self._access: Access | None = None

    @property
    def ready_url(self) -> str:
        """Address of the API's ``/readyz``."""
        return self._stack.plan.ready_urls[API]

    @property
    def access(self) -> Access:
        """The API's address, the account, and an API key with all scopes."""
        assert self._access is not None, "the stack is not up"
        return self._access

    @property
    def base_urls(self) -> tuple[str, ...]:
        """Addresses of the API, and of the second API if there is one."""
        second = f"http://127.0.0.1:{self._second_port}"
        return (self.access.base_url, *((second,) if self._second_port else ()))

    @property
    def environment(self) -> dict[str, str]:
        """The stack's environment, with addresses and secrets. Each process gets a part of it."""
        return dict(self._stack.plan.environment)

    @property
    def plan(self) -> StackPlan:
        return self._stack.plan

    def settings(self, settings_type: type[_Settings]) -> _Settings:
        return settings_type.model_validate(
            {
                name: self.environment[_PREFIX + name.upper()]
                for name in settings_type.model_fields
                if _PREFIX + name.upper() in self.environment
            }
        )

    def pid(self, process: str) -> int:
        """Return the process ID of a process, for example ``ingest`` or ``kafka``."""
        return self._stack.supervisor.status(process).pid

    def processes(self) -> dict[str, int]:
        """Return the process IDs of all running servers and processes, by name."""
        statuses = self._stack.supervisor.statuses()
        return {status.name: status.pid for status in statuses if status.pid}

    def kill(self, process: str) -> int:
        """Kill a process (SIGKILL) without its children, and return its PID.

        The supervisor restarts the process.
        """
        pid = self.pid(process)
        # For os.kill, 0 means this process's own group.
        assert pid, f"{process} is not there"
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_worker(self, process: str) -> int:
        """Kill (SIGKILL) an inference worker of a process, and return the worker's PID."""
        worker = self.workers(process)[0]
        os.kill(worker, signal.SIGKILL)
        return worker

    def workers(self, process: str) -> tuple[int, ...]:
        """Return the PIDs of a process's inference workers."""
        return running_below(self.pid(process), WORKER_MODULE)

    def data_folder(self, server: str) -> Path:
        return self._stack.plan.layout.data(server)

    def pause(self, process: str) -> None:
        """Freeze a process and its children (SIGSTOP)."""
        signal_family(self.pid(process), signal.SIGSTOP)

    def resume(self, process: str) -> None:
        """Resume a process and its children (SIGCONT)."""
        signal_family(self.pid(process), signal.SIGCONT)

    def stop_process(self, process: str) -> None:
        """Stop a process gracefully. It stays stopped until :meth:`start_process`."""
        self._stack.supervisor.stop_process(process)

    def start_process(self, process: str) -> None:
        """Start a stopped process, and return before it is ready."""
        self._stack.supervisor.start_process(process)

    def is_running(self, process: str) -> bool:
        """Return whether a process has been running for some seconds."""
        return self._stack.supervisor.status(process).state is ProcessState.RUNNING

    def log(self, process: str) -> str:
        return self._stack.last_lines(process)

    def start(self) -> None:
        """Start everything, with an account and a key but without a camera."""
        if self.cable is not None:
            self._things.enter_context(self.cable)
        self._stack.up(tied_to_caller=True)
        self._access = ensure_access(self._stack.plan)

    def stop(self) -> None:
        """Stop everything, the service's own processes first."""
        self._stack.down()
        self._things.close()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def second_name(stage: str) -> str:
    """Return the name of a stage's second worker."""
    return f"{stage}-2"


def _second(worker: Program, folder: Path, api_port: int) -> Program:
    # A plan's environment applies to all processes; settings of this process alone are set here.
    data = f"{_PREFIX}STREAM_DATA_DIRECTORY={folder / second_name('streams')}"
    port = f"{_PREFIX}API_PORT={api_port}"
    # Two processes cannot share a metrics port.
    pages = f"{_PREFIX}METRICS_PORT="
    words = (f"{pages}0" if word.startswith(pages) else word for word in worker.command)
    command = ("/usr/bin/env", data, port, f"{pages}0", *words)
    return replace(worker, name=second_name(worker.name), command=command)


def _tuned(program: Program, changes: Sequence[str]) -> Program:
    *before, module = program.command
    given = f"{VARIABLE}={' '.join(changes)}"
    command = ("/usr/bin/env", given, *before, "tests.services.tuned", module)
    return replace(program, command=command)


def _over(cable: Cable, worker: Program, plan: StackPlan) -> Program:
    return replace(worker, command=over_the_cable(worker.command, plan, cable))


@contextmanager
def whole_stack() -> Iterator[RunningStack]:
    """Yield a whole stack whose webhooks can be sent to receivers on this machine."""
    with (
        TemporaryDirectory(prefix="platestream-stack-", ignore_cleanup_errors=True) as folder,
        RunningStack(Path(folder), {"WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8"}) as stack,
    ):
        yield stack
