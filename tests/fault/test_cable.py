"""A cut cable drops all traffic without closing connections; after the repair, the data arrives."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.services.cable import Cable

pytestmark = pytest.mark.fault

_SILENT_SECONDS = 0.5
_TIMEOUT_SECONDS = 30
_RESET_WHEN_CLOSED = struct.pack("ii", 1, 0)


@pytest.fixture
def echo_port() -> Iterator[int]:
    """A server on 127.0.0.1 that accepts one connection and sends back what it receives."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def echo() -> None:
            connection, _ = server.accept()
            with connection:
                while piece := connection.recv(1024):
                    connection.sendall(piece)

        thread = threading.Thread(target=echo, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        thread.join(_TIMEOUT_SECONDS)


@pytest.fixture
def cable(echo_port: int) -> Iterator[Cable]:
    cable = Cable()
    cable.ports = (echo_port,)
    with cable:
        yield cable


def test_what_is_sent_over_a_cut_cable_comes_when_it_is_mended(
    cable: Cable, echo_port: int
) -> None:
    with socket.create_connection((cable.address, echo_port), _TIMEOUT_SECONDS) as far:
        far.sendall(b"before")
        assert far.recv(1024) == b"before"
        cable.cut()
        far.sendall(b"meanwhile")
        far.settimeout(_SILENT_SECONDS)
        with pytest.raises(TimeoutError):
            far.recv(1024)
        cable.mend()
        far.settimeout(_TIMEOUT_SECONDS)
        assert far.recv(1024) == b"meanwhile"


def test_a_client_that_connects_over_a_cut_cable_gets_no_answer(
    cable: Cable, echo_port: int
) -> None:
    cable.cut()
    with socket.create_connection((cable.address, echo_port), _TIMEOUT_SECONDS) as far:
        far.sendall(b"hello")
        far.settimeout(_SILENT_SECONDS)
        with pytest.raises(TimeoutError):
            far.recv(1024)
        cable.mend()
        far.settimeout(_TIMEOUT_SECONDS)
        assert far.recv(1024) == b"hello"


def test_what_a_reset_connection_sent_over_a_cut_cable_is_lost() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = int(server.getsockname()[1])
        cable = Cable()
        cable.ports = (port,)
        with cable:
            far = socket.create_connection((cable.address, port), _TIMEOUT_SECONDS)
            near, _ = server.accept()
            cable.cut()
            far.sendall(b"stale")
            far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_WHEN_CLOSED)
            far.close()
            cable.mend()
            near.settimeout(_TIMEOUT_SECONDS)
            with near, suppress(ConnectionResetError):
                assert near.recv(1024) == b""
