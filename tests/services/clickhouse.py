"""The embedded ClickHouse server as a child process, for tests."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

_START_SECONDS = 30.0
_STOP_SECONDS = 40.0
_POLL_SECONDS = 0.02
_PREFIX = "PLATESTREAM_CLICKHOUSE_SERVER_"


@dataclass(frozen=True)
class ClickHouseAddress:
    """Where a ClickHouse server is, and who may use it."""

    host: str
    port: int
    user: str
    password: str
    database: str = "default"

    @property
    def url(self) -> str:
        """The HTTP address, without user and database."""
        return f"http://{self.host}:{self.port}"


class ClickHouseService:
    """One embedded server on one folder; it keeps its port and its data over restarts."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._folder = folder
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._log_path = folder / "clickhouse.log"

    @property
    def address(self) -> ClickHouseAddress:
        """Where it listens."""
        return ClickHouseAddress("127.0.0.1", self._port, "tester", "test-password")

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """Everything the server has written to standard error, over all its starts."""
        return self._log_path.read_text() if self._log_path.exists() else ""

    def start(self) -> None:
        """Start and wait until it answers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        already_written = len(self.log)
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "deploy.clickhouse"],
                env=self._environment(),
                stdout=log,
                stderr=log,
            )
        self._port = self._await_port(self._process, already_written)

    def stop(self) -> int:
        """Ask it to end (SIGTERM), wait, and return its exit status."""
        assert self._process is not None
        self._process.terminate()
        status = self._process.wait(_STOP_SECONDS)
        self._process = None
        return status

    def kill(self) -> None:
        """Kill it (SIGKILL) as a crash would, and wait until it is gone."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(_STOP_SECONDS)
        self._process = None

    def restart(self) -> None:
        """Stop it, unless it was killed, and start it again on the same port and data."""
        if self._process is not None:
            self.stop()
        self.start()

    def close(self) -> None:
        """End it, however; harmless if it does not run."""
        if self._process is not None:
            self.kill()

    def _environment(self) -> dict[str, str]:
        own = {
            "port": str(self._port),
            "data_path": str(self._folder / "data"),
            "user": "tester",
            "password": "test-password",
            # A test's insert need not outlive a power cut.
            "fsync": "false",
            **self._settings,
        }
        return os.environ | {f"{_PREFIX}{name.upper()}": value for name, value in own.items()}

    def _await_port(self, process: "subprocess.Popen[bytes]", already_written: int) -> int:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            for line in self.log[already_written:].splitlines():
                if '"clickhouse_ready"' in line:
                    return int(json.loads(line)["port"])
            if process.poll() is not None:
                break
            time.sleep(_POLL_SECONDS)
        self.close()
        raise RuntimeError(f"the ClickHouse server did not start:\n{self.log[already_written:]}")


def start_clickhouse(folder: Path, **settings: str) -> ClickHouseService:
    """Start an embedded server in ``folder`` on a free port.

    ``settings`` are the server's own, without prefix: ``memory_bytes="300000000"``. Close it after.
    """
    service = ClickHouseService(folder, **settings)
    service.start()
    return service
