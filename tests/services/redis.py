"""A Redis-compatible store for tests: one per test run. Tests use separate callers."""

import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr

from common.settings import load_settings
from deploy.local.ports import free_ports
from deploy.local.servers.base import NotReadyError, Program, Server, check_port, tied
from tests.services.addresses import GivenServers
from tests.services.process import ServerProcess

_PASSWORD = "for-tests-only"
# Debian's server and checking tool are one program, which behaves as its name says. Unlike the
# server's package, the tool's package starts no service on the machine.
_NAMES = ("valkey-server", "redis-server", "redis-check-rdb")


@dataclass(frozen=True, kw_only=True)
class RedisServer(Server):
    """A store in memory that writes nothing to disk."""

    name: str = "redis"

    @property
    def url(self) -> str:
        """The URL for clients."""
        return f"redis://:{_PASSWORD}@127.0.0.1:{self.port}/0"

    def prepare(self) -> None:
        """Create the store's folder with a link to the program, named ``redis-server``."""
        super().prepare()
        found = next((path for name in _NAMES if (path := shutil.which(name))), None)
        assert found is not None, "no Redis-compatible server: apt-get install redis-tools"
        program = self.directory / "redis-server"
        if not program.exists():
            program.symlink_to(found)

    def program(self) -> Program:
        """Return the server's process."""
        options = {
            "--port": str(self.port),
            "--bind": "127.0.0.1",
            "--requirepass": _PASSWORD,
            "--save": "",
            "--appendonly": "no",
            "--dir": str(self.directory),
        }
        words = [word for option in options.items() for word in option]
        return Program(
            name=self.name,
            command=tied(str(self.directory / "redis-server"), *words),
            directory=self.directory,
        )

    def check(self) -> None:
        """Check that the store responds.

        Raises:
            NotReadyError: the store does not respond yet.
        """
        check_port(self.port)
        if _answer(self.port, "PING") != b"+PONG\r\n":
            raise NotReadyError("no PONG")


def _answer(port: int, *words: str) -> bytes:
    lines = f"AUTH {_PASSWORD}\r\n{' '.join(words)}\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(lines.encode())
        answers = b""
        while answers.count(b"\r\n") < 2:
            part = connection.recv(4096)
            if not part:
                break
            answers += part
    return answers.removeprefix(b"+OK\r\n")


def redis_process(directory: Path) -> ServerProcess:
    """Return a server that has not been started, for a test that kills or freezes the server."""
    (port,) = free_ports(1)
    return ServerProcess(RedisServer(directory=directory / "redis", port=port), directory / "logs")


@pytest.fixture(scope="session")
def redis_server(services_directory: Path) -> Iterator[SecretStr]:
    """Address of the test run's store."""
    given = load_settings(GivenServers).redis_url
    if given is not None:
        yield given
        return
    with redis_process(services_directory) as process:
        assert isinstance(process.server, RedisServer)
        yield SecretStr(process.server.url)
