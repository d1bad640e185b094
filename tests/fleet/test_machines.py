"""Machines of a fleet have separate clocks, and receive nothing while they are cut off."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.machines import Machine, Network, NetworkRefusedError, laid_network

pytestmark = pytest.mark.integration

_AHEAD_SECONDS = 2.0
_CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3])).close()
except TimeoutError:
    sys.exit("silence")
"""


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    try:
        with laid_network(tmp_path, (0.0, _AHEAD_SECONDS)) as network:
            yield network
    except NetworkRefusedError as error:
        pytest.skip(str(error))


def _connects(machine: Machine, address: str, port: int, *, seconds: float) -> bool:
    asked = machine.command(sys.executable, "-c", _CONNECT, address, str(port), str(seconds))
    answer = subprocess.run(asked, capture_output=True, check=False, timeout=60)
    if answer.returncode:
        assert answer.stderr.strip() == b"silence", answer.stderr
    return answer.returncode == 0


def test_a_machine_that_is_cut_off_hears_nothing(network: Network) -> None:
    one, other = network.machines
    with socket.create_server((network.address, 0)) as server:
        port = server.getsockname()[1]
        assert _connects(one, network.address, port, seconds=30)
        assert _connects(other, network.address, port, seconds=30)
        one.cut_off()
        assert not _connects(one, network.address, port, seconds=0.5)
        assert _connects(other, network.address, port, seconds=30)
        one.reconnect()
        assert _connects(one, network.address, port, seconds=30)


def test_a_machine_and_its_children_have_their_own_clock(network: Network) -> None:
    one, other = network.machines
    began = time.time()
    assert began <= one.now_seconds() <= time.time()
    began = time.time()
    assert 0 <= other.now_seconds() - began - _AHEAD_SECONDS <= time.time() - began
    # Capture and inference processes get little more of the environment than the Python path.
    child = "import os, subprocess, sys; bare = {'PYTHONPATH': os.environ['PYTHONPATH']}; "
    child += "subprocess.run([sys.executable, '-c', 'import time; print(time.time())'], env=bare)"
    began = time.time()
    asked = other.command(sys.executable, "-c", child)
    answer = subprocess.run(asked, capture_output=True, check=True, timeout=60)
    assert 0 <= float(answer.stdout) - began - _AHEAD_SECONDS <= time.time() - began


def test_a_machine_with_another_clock_sleeps_as_long_as_it_should(network: Network) -> None:
    slept = "import time; at = time.monotonic(); time.sleep(0.2); print(time.monotonic() - at)"
    for machine in network.machines:
        asked = machine.command(sys.executable, "-c", slept)
        answer = subprocess.run(asked, capture_output=True, check=True, timeout=60)
        assert float(answer.stdout) >= 0.2
