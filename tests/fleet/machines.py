"""Machines of a fleet: network namespaces at a switch, each with its own folder and clock.

A machine is cut off by removing its end of the cable from the switch: packets are lost in both
directions, and no connection is refused or closed. Networks require root.

**Source:** bridge(8), veth(4), network_namespaces(7), nsenter(1).
"""

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from deploy.local.servers.base import tied
from tests.services.ip_command import ip

_COMMAND_SECONDS = 10
_NETWORKS = itertools.count()
_CLOCK_SOURCE = Path(__file__).with_name("clock.c")
# Capture and inference processes get few environment variables, but they do import this module,
# which restarts each Python process with another clock.
_CLOCK = """
import os, sys
if "PLATESTREAM_TEST_CLOCK_AHEAD_MS" not in os.environ:
    os.environ |= {clock!r}
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
"""


class NetworkRefusedError(Exception):
    """The user is not allowed to create a network. The message names the denied operation."""


@dataclass(frozen=True)
class Machine:
    """A machine. Its namespace and the near end of its cable are both called ``name``.

    ``folder`` contains the machine's data. Its clock is ``ahead_seconds`` ahead of this machine's.
    """

    name: str
    switch: str
    address: str
    folder: Path
    ahead_seconds: float = 0.0

    def cut_off(self) -> None:
        """Drop all packets to and from the machine from now on."""
        ip("link", "set", self.name, "nomaster")

    def reconnect(self) -> None:
        """Stop dropping packets."""
        ip("link", "set", self.name, "master", self.switch)

    def command(self, *command: str) -> tuple[str, ...]:
        """Return the command that runs ``command`` on the machine."""
        variables = [f"PYTHONPATH={self._clock_folder}"] if self.ahead_seconds else []
        words = ("/usr/bin/env", *variables, *command)
        return tied("nsenter", f"--net=/run/netns/{self.name}", *words)

    def set_clock(self) -> None:
        """Write the module that sets the clock of Python processes on the machine.

        Raises:
            FileNotFoundError: no C compiler is installed.
        """
        if not self.ahead_seconds:
            return
        self._clock_folder.mkdir(parents=True, exist_ok=True)
        library = self._clock_folder / "clock.so"
        command = ("cc", "-O2", "-shared", "-fPIC", "-o", library, _CLOCK_SOURCE, "-ldl")
        subprocess.run(command, check=True, capture_output=True, timeout=_COMMAND_SECONDS)
        clock = {
            "LD_PRELOAD": str(library),
            "PLATESTREAM_TEST_CLOCK_AHEAD_MS": f"{self.ahead_seconds * 1000:.0f}",
        }
        text = _CLOCK.format(clock=clock)
        (self._clock_folder / "sitecustomize.py").write_text(text)

    def now_seconds(self) -> float:
        """Return the time that a Python process on the machine gets (Unix s)."""
        asked = self.command(sys.executable, "-c", "import time; print(time.time())")
        answer = subprocess.run(asked, check=True, capture_output=True, timeout=_COMMAND_SECONDS)
        return float(answer.stdout)

    @property
    def _clock_folder(self) -> Path:
        return self.folder / "clock"


@dataclass(frozen=True)
class Network:
    """A switch with machines. ``address`` is the address of this machine, which has all servers."""

    address: str
    machines: tuple[Machine, ...]

    @property
    def range(self) -> str:
        return f"{self.address.rpartition('.')[0]}.0/24"


@contextmanager
def laid_network(folder: Path, ahead_seconds: Sequence[float]) -> Iterator[Network]:
    """Yield a network that exists until the end of the block, with one machine for each clock.

    Raises:
        NetworkRefusedError: the user is not allowed to create a network.
        FileNotFoundError: no C compiler is installed.
    """
    number = (os.getpid() * 7 + next(_NETWORKS)) % 4_096
    switch, begin = f"flt{number}", f"10.{220 + number // 256}.{number % 256}"
    machines = tuple(
        Machine(f"{switch}m{n}", switch, f"{begin}.{n + 1}", folder / f"machine-{n}", ahead)
        for n, ahead in enumerate(ahead_seconds, start=1)
    )
    network = Network(f"{begin}.1", machines)
    try:
        _add_switch(switch)
        _lay(switch, network)
        yield network
    finally:
        for machine in machines:
            with suppress(subprocess.CalledProcessError, OSError):
                ip("netns", "delete", machine.name)
        with suppress(subprocess.CalledProcessError, OSError):
            ip("link", "delete", switch)


def _add_switch(name: str) -> None:
    try:
        ip("link", "add", name, "type", "bridge", "forward_delay", "0")
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode().strip()
        raise NetworkRefusedError(
            f"no network can be laid here, which takes root: {said}"
        ) from error


def _lay(switch: str, network: Network) -> None:
    ip("address", "add", f"{network.address}/24", "dev", switch)
    ip("link", "set", switch, "up")
    for machine in network.machines:
        machine.folder.mkdir(parents=True, exist_ok=True)
        machine.set_clock()
        name = machine.name
        ip("netns", "add", name)
        ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", name, "master", switch, "up")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "address", "add", f"{machine.address}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
