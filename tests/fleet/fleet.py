"""A fleet under test, with functions to start, restart and cut off its parts."""

import http.client
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.local.plan import API, METRICS_OFFSETS
from tests.fault.faults import APPLICATION
from tests.fault.receivers import Receivers
from tests.fault.scenery import SETTINGS
from tests.fleet.machines import Machine, Network, laid_network
from tests.fleet.plan import PREFIX, fleet_plan
from tests.services.stack import RunningStack, second_name
from tests.waiting import wait_until

SKEW_SECONDS = 2.0
"""The time by which the second machine's clock is ahead of the first machine's clock."""
PROCESSES = tuple(name for each in APPLICATION for name in (each, second_name(each)))
# Three brokers and twenty other processes start at the same time, on any number of cores.
_PATIENCE = 4.0
_HEALTH_SECONDS = 90
_ASK_SECONDS = 3


@dataclass(frozen=True)
class Fleet:
    """Three brokers, a proxy in front of two APIs, and each process on both machines."""

    stack: RunningStack
    network: Network

    def machine_of(self, process: str) -> Machine:
        return self.network.machines[process.endswith("-2")]

    def is_healthy(self, process: str) -> bool:
        """Return whether a process reports readiness on its health page."""
        stage, host = process.removesuffix("-2"), self.machine_of(process).address
        port = self.stack.plan.metrics_port + METRICS_OFFSETS[stage]
        connection = http.client.HTTPConnection(host, port, timeout=_ASK_SECONDS)
        try:
            connection.request("GET", "/readyz" if stage == API else "/healthz")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def wait_for_health(self, process: str) -> float:
        """Wait until a process is healthy, and return the time that this took (s)."""
        began = time.monotonic()
        wait_until(f"{process} is well", lambda: self.is_healthy(process), _HEALTH_SECONDS, 0.5)
        return time.monotonic() - began

    @contextmanager
    def cut_off(self, machine: Machine) -> Iterator[None]:
        """Cut a machine off while the block runs. Its processes keep running."""
        machine.cut_off()
        try:
            yield
        finally:
            machine.reconnect()

    def restart(self, process: str) -> None:
        """Stop a process gracefully and start the process again."""
        self.stack.stop_process(process)
        self.stack.start_process(process)


@contextmanager
def running_fleet(folder: Path, receivers: Receivers) -> Iterator[Fleet]:
    """Yield a fleet that runs until the end of the block.

    Raises:
        NetworkRefusedError: the user is not allowed to create a network.
    """
    with laid_network(folder, (0.0, SKEW_SECONDS)) as network:
        passed_on = (receivers.web.port, receivers.mail.port)
        settings = SETTINGS | {
            "SMTP_PORT": str(receivers.mail.port),
            "KAFKA_TOPIC_PREFIX": PREFIX,
            "WEBHOOK_ALLOWED_NETWORKS": network.range,
            "RECOGNITION_WORKERS": "1",
        }
        stack = RunningStack(
            folder,
            settings,
            elsewhere=lambda plan: fleet_plan(plan, network, passed_on),
            patience=_PATIENCE,
        )
        with stack:
            yield Fleet(stack, network)
