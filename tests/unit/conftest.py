"""Unit tests have no network. A connection fails the test even if the error is caught."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse connections and name look-ups, except for the UNIX sockets that event loops use."""
    attempts: list[str] = []
    connect = socket.socket.connect

    def refuse(what: str) -> OSError:
        attempts.append(what)
        return OSError(f"a unit test must not use the network: {what}")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX:
            raise refuse(f"connect to {address}")
        connect(self, address)

    def guarded_look_up(host: Any, *_: Any, **__: Any) -> Any:
        raise refuse(f"look up {host}")

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)
    yield
    assert not attempts, f"used the network: {attempts}"
