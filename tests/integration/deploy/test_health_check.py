"""The image's health check with health pages that respond."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from deploy.image.healthy import is_healthy

pytestmark = pytest.mark.integration


@contextmanager
def _page(answer: bytes) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_once() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(answer)

        thread = threading.Thread(target=answer_once, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(10)


def _nobody() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\n", True),
        (b"HTTP/1.0 503 Service Unavailable\r\n\r\n", False),
        (b"", False),
    ],
)
def test_the_health_check_asks_whoever_listens(answer: bytes, expected: bool) -> None:
    with _page(answer) as port:
        environment = {
            "PLATESTREAM_METRICS_PORT": _nobody(),
            "PLATESTREAM_API_PORT": str(port),
        }
        assert is_healthy(environment) is expected


def test_the_health_check_fails_without_a_listener() -> None:
    assert not is_healthy({"PLATESTREAM_API_PORT": _nobody()})
