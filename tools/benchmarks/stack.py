"""Runs the local stack that a benchmark measures, and reads its CPU time and memory usage."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar
from uuid import UUID

import httpx
import psutil
from kafka import KafkaProducer
from pydantic_settings import BaseSettings

from common.kafka.clients import producer_options, topic_name
from common.records.codec import Record, encode
from common.records.topics import Topic
from common.settings import KafkaSettings
from deploy.local.access import ensure_access
from deploy.local.plan import METRICS_OFFSETS, make_plan
from deploy.local.ports import free_ports, free_range
from deploy.local.settings import LocalStackSettings
from deploy.local.stack import LocalStack
from deploy.local.waiting import Progress

_PREFIX: Final = "PLATESTREAM_"
_PORT_SETTINGS: Final = ("api_port", "s3_port", "postgres_port", "clickhouse_port")
_SETTINGS: Final = {
    "RATE_LIMIT_PER_MINUTE": "0",
    "RATE_LIMIT_RECOGNIZE_PER_MINUTE": "0",
    "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
}
_Settings = TypeVar("_Settings", bound=BaseSettings)
_T = TypeVar("_T")


class BenchmarkStack:
    """A running stack with one account and no cameras."""

    def __init__(self, stack: LocalStack) -> None:
        """``stack`` must be running, with an account and no cameras."""
        access = ensure_access(stack.plan)
        self._stack = stack
        self._producer = KafkaProducer(**producer_options(self.settings(KafkaSettings), "bench"))
        self.api_key = access.api_key
        self.api = httpx.Client(
            base_url=access.base_url,
            headers={"Authorization": f"Bearer {access.api_key}"},
            timeout=60,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of all processes, including URLs and secrets."""
        return {**os.environ, **self._stack.plan.environment}

    @property
    def api_port(self) -> int:
        """Port of the API on 127.0.0.1."""
        return self._stack.plan.api_port

    def metrics_port(self, process: str) -> int:
        """Return the metrics port of a process on 127.0.0.1."""
        return self._stack.plan.metrics_port + METRICS_OFFSETS[process]

    def settings(self, settings_type: type[_Settings]) -> _Settings:
        """Return the settings that a process of the stack would load."""
        given = {
            name: self.environment[_PREFIX + name.upper()]
            for name in settings_type.model_fields
            if _PREFIX + name.upper() in self.environment
        }
        return settings_type.model_validate(given)

    def owner_id(self) -> UUID:
        """Return the ID of the account."""
        command = (sys.executable, "-m", "api.cli", "owner", "list", "--json")
        listed = subprocess.run(command, env=self.environment, capture_output=True, check=True)
        return UUID(json.loads(listed.stdout)["owners"][0]["id"])

    def call(self, method: str, path: str, **options: Any) -> Any:
        """Send a request that must succeed, and return the JSON body of the response."""
        answer = self.api.request(method, path, **options)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def create_camera(self, url: str, name: str = "Gate") -> UUID:
        """Create a camera as soon as an ingest worker can accept it, and return the camera's ID."""

        def create() -> httpx.Response | None:
            answer = self.api.post("/api/cameras", json={"name": name, "rtspUrl": url})
            return answer if answer.is_success else None

        created = wait_until("the camera is created", create)
        return UUID(created.json()["camera"]["id"])

    def send(self, topic: Topic, records: Iterable[tuple[UUID, Record]]) -> None:
        """Publish records, given with their keys. Wait until Kafka has stored all of them."""
        name = topic_name(self.settings(KafkaSettings), topic)
        for key, record in records:
            self._producer.send(name, key=str(key).encode(), value=encode(record))
        self._producer.flush(60)

    def run_only(self, *names: str) -> None:
        """Stop all processes of the service except those in ``names``."""
        for program in self._stack.plan.application:
            if program.name not in names:
                self._stack.supervisor.stop_process(program.name)

    def start_process(self, name: str) -> None:
        """Start a stopped process, without waiting until it is ready."""
        self._stack.supervisor.start_process(name)

    def pids(self) -> dict[str, int]:
        """Return the process IDs of all running servers and processes, by name."""
        return {one.name: one.pid for one in self._stack.supervisor.statuses() if one.pid}

    def pid(self, name: str) -> int:
        """Return the process ID of a process or server, such as ``api``."""
        return self.pids()[name]

    def close(self) -> None:
        """Close the connections."""
        self._producer.close(10)
        self.api.close()


@contextmanager
def running_stack(**settings: str) -> Iterator[BenchmarkStack]:
    """Run and yield a stack in a temporary folder. The names in ``settings`` omit the prefix."""
    ports = dict(zip(_PORT_SETTINGS, free_ports(len(_PORT_SETTINGS)), strict=True))
    # The broker needs two consecutive ports, and each process adds an offset to the metrics port.
    ports |= {"kafka_port": free_range(2), "metrics_port": free_range(8)}
    outside = {name: value for name, value in os.environ.items() if not name.startswith(_PREFIX)}
    given = {_PREFIX + name: value for name, value in (_SETTINGS | settings).items()}
    with TemporaryDirectory(prefix="platestream-bench-", ignore_cleanup_errors=True) as folder:
        local = LocalStackSettings.model_validate({"local_dir": Path(folder), **ports})
        # The start is not measured, so longer timeouts do no harm.
        stack = LocalStack(make_plan(local, outside | given), Progress(StringIO()), patience=4.0)
        try:
            stack.up(tied_to_caller=True)
            running = BenchmarkStack(stack)
            yield running
            running.close()
        finally:
            stack.down()


def wait_until(what: str, condition: Callable[[], _T | None], seconds: float = 300) -> _T:
    """Call ``condition`` until it returns a true value, and return this value.

    Raises:
        TimeoutError: ``condition`` was false for ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"timed out after {seconds:g} s: {what}")
        time.sleep(0.01)
    return value


def family(pid: int) -> list[psutil.Process]:
    """Return a process and all of its running descendants."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def cpu_seconds(pid: int) -> float:
    """Return the CPU time used so far by a process and its running children."""
    return float(sum(sum(member.cpu_times()[:2]) for member in family(pid)))


def memory_mib(pid: int) -> float:
    """Return the memory of a process and its children (proportional set size)."""
    return sum(float(member.memory_full_info().pss) for member in family(pid)) / 2**20


def print_table(*head: str) -> None:
    """Print the header of a Markdown table."""
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)


def spread(took_ms: Sequence[float]) -> str:
    """Return p50, p95 and maximum in milliseconds, as table cells."""
    parts = statistics.quantiles(took_ms, n=20, method="inclusive")
    return f"{parts[9]:.1f} | {parts[18]:.1f} | {max(took_ms):.1f}"
