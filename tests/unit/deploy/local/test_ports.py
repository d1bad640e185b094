import os
import socket
from collections.abc import Iterator

import pytest

from deploy.local.ports import busy_ports, free_ports, is_free
from deploy.local.servers.base import PortUse


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_busy_port_is_named_with_its_setting_and_what_holds_it(taken_port: int) -> None:
    (sentence,) = busy_ports([PortUse(taken_port, "PLATESTREAM_API_PORT")])

    assert f"port {taken_port} is in use by process {os.getpid()} (" in sentence
    assert sentence.endswith("or set PLATESTREAM_API_PORT")


def test_free_ports_are_not_mentioned(taken_port: int) -> None:
    (free,) = free_ports(1)

    assert is_free(free)
    assert not is_free(taken_port)
    assert busy_ports([PortUse(free, "ANY")]) == ()


def test_free_ports_are_different() -> None:
    assert len(set(free_ports(20))) == 20
