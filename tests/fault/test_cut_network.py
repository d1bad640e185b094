"""A cable that is cut lets nothing through and says nothing; once mended, what was sent comes."""

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.services.cut_network import Cable, Relay, laid_cable

pytestmark = pytest.mark.fault

_SILENT_SECONDS = 0.5
_TIMEOUT_SECONDS = 30


@pytest.fixture
def cable() -> Iterator[Cable]:
    with laid_cable() as cable:
        if cable is None:
            pytest.skip("this user may not lay a network")
        yield cable


@pytest.fixture
def echo_port() -> Iterator[int]:
    """A server on 127.0.0.1 that sends back what it gets on one connection."""
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


def test_what_is_sent_over_a_cut_cable_comes_when_it_is_mended(
    cable: Cable, echo_port: int
) -> None:
    with (
        Relay(cable, (echo_port,)),
        socket.create_connection((cable.address, echo_port), _TIMEOUT_SECONDS) as far,
    ):
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


def test_who_connects_over_a_cut_cable_hears_nothing(cable: Cable, echo_port: int) -> None:
    with Relay(cable, (echo_port,)):
        cable.cut()
        with pytest.raises(TimeoutError):
            socket.create_connection((cable.address, echo_port), _SILENT_SECONDS)
        cable.mend()
        with socket.create_connection((cable.address, echo_port), _TIMEOUT_SECONDS) as far:
            far.sendall(b"again")
            assert far.recv(1024) == b"again"


def test_there_can_be_several(cable: Cable) -> None:
    with laid_cable() as other:
        assert other is not None
        assert other.address != cable.address
