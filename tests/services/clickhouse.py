"""ClickHouse for tests: one server per test run, an empty or a migrated database per test."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import clickhouse_connect
import pytest
from clickhouse_connect.driver.client import Client
from pydantic import SecretStr

from analytics_sql.migrate import migrate
from common.settings import ClickHouseSettings, load_settings
from deploy.local.ports import free_ports
from deploy.local.servers.base import Program, python_module
from deploy.local.servers.clickhouse import ClickHouseServer
from tests.services.addresses import GivenServers
from tests.services.process import ServerProcess
from tests.services.tuned import VARIABLE

_PASSWORD = "for-tests-only"
_ANALYST_PASSWORD = "for-tests-that-read"


@dataclass(frozen=True)
class ClickHouseAddress:
    """Address and user of a ClickHouse server."""

    host: str
    port: int
    user: str
    password: str
    database: str = "default"

    @property
    def url(self) -> str:
        """The HTTP address, without the user and the database."""
        return f"http://{self.host}:{self.port}"

    def settings(self) -> ClickHouseSettings:
        """Return the settings of a process that uses this server."""
        return ClickHouseSettings(
            clickhouse_url=self.url,
            clickhouse_user=self.user,
            clickhouse_password=SecretStr(self.password),
            clickhouse_database=self.database,
            clickhouse_cluster="",
        )

    def client(self) -> Client:
        """Return a new blocking client, which the caller closes."""
        return clickhouse_connect.get_client(
            host=self.host,
            port=self.port,
            username=self.user,
            password=self.password,
            database=self.database,
            autogenerate_session_id=False,
        )


class _TunedServer(ClickHouseServer):
    def program(self) -> Program:
        """Return the server's process, in which a test can change constants."""
        program = super().program()
        module = program.command.index("-m") + 1
        command = python_module("tests.services.tuned", *program.command[module:])
        return replace(program, command=command)


class ClickHouseService(ServerProcess):
    """An embedded server that a test owns. :meth:`kill` and :meth:`stop` keep its port and data."""

    def __init__(self, directory: Path, **constants: str) -> None:
        """Set constants by their full names, as in ``deploy.clickhouse.app.QUEUE_SECONDS``."""
        (port,) = free_ports(1)
        server = _TunedServer(
            directory=directory / "clickhouse",
            port=port,
            password=_PASSWORD,
            user="tester",
            analyst_password=_ANALYST_PASSWORD,
        )
        tuned = " ".join(f"{name}={value}" for name, value in constants.items())
        super().__init__(server, directory / "logs", {VARIABLE: tuned})
        self.address = ClickHouseAddress("127.0.0.1", port, "tester", _PASSWORD)
        self.analyst = ClickHouseAddress("127.0.0.1", port, "analyst", _ANALYST_PASSWORD)


def start_clickhouse(directory: Path, **constants: str) -> ClickHouseService:
    """Return a started server with its data in ``directory``. The caller stops or kills it."""
    service = ClickHouseService(directory, **constants)
    service.start()
    return service


def create_database(server: ClickHouseAddress) -> ClickHouseAddress:
    name = f"test_{uuid.uuid4().hex[:12]}"
    client = server.client()
    try:
        client.command(f"CREATE DATABASE {name}")
    finally:
        client.close()
    return ClickHouseAddress(server.host, server.port, server.user, server.password, name)


def _given(servers: GivenServers) -> ClickHouseAddress | None:
    if servers.clickhouse_url is None:
        return None
    parts = urlsplit(servers.clickhouse_url)
    password = servers.clickhouse_password.get_secret_value()
    return ClickHouseAddress(
        parts.hostname or "", parts.port or 8123, servers.clickhouse_user, password
    )


@pytest.fixture(scope="session")
def clickhouse_server(services_directory: Path) -> Iterator[ClickHouseAddress]:
    """Address of the test run's server: the given real server, or the embedded one."""
    given = _given(load_settings(GivenServers))
    if given is not None:
        yield given
        return
    with ClickHouseService(services_directory) as service:
        yield service.address


@pytest.fixture
def clickhouse_address(clickhouse_server: ClickHouseAddress) -> ClickHouseAddress:
    """Address of a new, empty database."""
    return create_database(clickhouse_server)


@pytest.fixture(scope="session")
def _shared_database(clickhouse_server: ClickHouseAddress) -> ClickHouseAddress:
    address = create_database(clickhouse_server)
    client = address.client()
    migrate(client, retention_days=36_500)
    client.close()
    return address


@pytest.fixture
def migrated_clickhouse(_shared_database: ClickHouseAddress) -> Iterator[ClickHouseAddress]:
    """Address of a migrated database, which is emptied after the test.

    A new database would take seconds of CPU time, and more while its tables exist.
    """
    yield _shared_database
    client = _shared_database.client()
    filled = "engine LIKE '%MergeTree' AND total_rows > 0 AND name != 'schema_migrations'"
    query = f"SELECT name FROM system.tables WHERE database = currentDatabase() AND {filled}"
    for (name,) in client.query(query).result_rows:
        client.command(f"SYSTEM START MERGES {name}")
        client.command(f"TRUNCATE TABLE {name} SYNC")
    client.close()
