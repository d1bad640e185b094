"""PostgreSQL for tests: one server per test run, and a separate database for each test."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from common.settings import DatabaseSettings, load_settings
from deploy.local.ports import free_ports
from deploy.local.servers.base import Program
from deploy.local.servers.postgres import PostgresServer
from tests.services.addresses import GivenServers
from tests.services.process import ServerProcess
from tests.waiting import wait_until


@dataclass(frozen=True, kw_only=True)
class _UnsyncedPostgres(PostgresServer):
    """PostgreSQL without fsync: data survives a kill of the server, but not of the machine."""

    def prepare(self) -> None:
        super().prepare()
        # The children of a killed server end soon, and no server starts before that.
        wait_until("no process of a killed server", self._is_free, 20, poll_seconds=0.05)

    def _is_free(self) -> bool:
        data = str(self.directory.resolve() / "data")
        return all(process.info["cwd"] != data for process in psutil.process_iter(["cwd"]))

    def program(self) -> Program:
        program = super().program()
        # With synchronous_commit=off, a killed server would also lose its last commits.
        options = ("-c", "fsync=off", "-c", "full_page_writes=off")
        return replace(program, command=(*program.command, *options))


def postgres_process(directory: Path) -> ServerProcess:
    """Return a server that has not been started, for a test that kills or freezes the server."""
    (port,) = free_ports(1)
    server = _UnsyncedPostgres(
        directory=directory / "postgres", port=port, password="for-tests-only"
    )
    return ServerProcess(server, directory / "logs")


def create_database(server_url: str, *, template: str = "template1") -> DatabaseSettings:
    """Create an empty database, or a copy of ``template``, and return its settings."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
    with psycopg.connect(server_url, autocommit=True, connect_timeout=10) as connection:
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
    url = urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    return DatabaseSettings(database_url=SecretStr(url))


@pytest.fixture(scope="session")
def postgres_url(services_directory: Path) -> Iterator[str]:
    """Address of the test run's server, with a database that tests must not write to."""
    given = load_settings(GivenServers).database_url
    if given is not None:
        yield given.get_secret_value()
        return
    with postgres_process(services_directory) as process:
        assert isinstance(process.server, PostgresServer)
        yield process.server.url("postgres")


@pytest.fixture
def database_settings(postgres_url: str) -> DatabaseSettings:
    return create_database(postgres_url)
