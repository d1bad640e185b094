"""Fixtures of the api's tests: a migrated database for each test, an application over it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from psycopg import sql

from analytics_sql.client import ClickHouseClient
from api.db.database import Database
from api.db.engine import open_engine
from api.db.migrate import migrate
from common.settings import DatabaseSettings
from tests.integration.api.application import (
    Application,
    Caller,
    Options,
    StandInStore,
    running_application,
)
from tests.services.clickhouse import ClickHouseAddress
from tests.services.postgres import create_database


@pytest.fixture(scope="session")
def migrated_template(postgres_url: str) -> str:
    """Name of a migrated, empty database to copy."""
    settings = create_database(postgres_url)
    engine = open_engine(settings)
    migrate(engine)
    engine.dispose()
    return _name(settings)


@contextmanager
def copied_database(postgres_url: str, template: str) -> Iterator[DatabaseSettings]:
    """Yield the settings of a copy of a database, which is dropped in the end."""
    settings = create_database(postgres_url, template=template)
    yield settings
    # A dropped database is not written out at the server's last checkpoint, where dozens of them
    # were seen to take half a minute.
    drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(_name(settings)))
    with psycopg.connect(postgres_url, autocommit=True, connect_timeout=10) as connection:
        connection.execute(drop)


@pytest.fixture
def api_database(postgres_url: str, migrated_template: str) -> Iterator[DatabaseSettings]:
    """Settings of a fresh, migrated database."""
    with copied_database(postgres_url, migrated_template) as settings:
        yield settings


def _name(settings: DatabaseSettings) -> str:
    return urlsplit(settings.database_url.get_secret_value()).path.removeprefix("/")


@pytest.fixture
async def database(api_database: DatabaseSettings) -> AsyncIterator[Database]:
    """Transactions on a fresh, migrated database."""
    opened = Database(api_database, pool_size=8)
    yield opened
    opened.close()


@pytest.fixture
def stored() -> StandInStore:
    """What ClickHouse holds of deliveries."""
    return StandInStore()


@pytest.fixture
async def application(database: Database, stored: StandInStore) -> AsyncIterator[Application]:
    """The API over a real database; search, images and recogniser are stand-ins."""
    async with running_application(database, Options(store=stored)) as app:
        yield app


@pytest.fixture
async def owner(application: Application) -> Caller:
    """An owner with a key of all scopes, and no credits."""
    return await application.new_owner()


@pytest.fixture
async def client(application: Application) -> AsyncIterator[httpx.AsyncClient]:
    """A client with a key of all scopes."""
    caller = await application.new_owner(credits=50)
    async with application.client(caller) as opened:
        yield opened


@pytest.fixture
async def clickhouse(migrated_clickhouse: ClickHouseAddress) -> AsyncIterator[ClickHouseClient]:
    """A client of a migrated, empty database of ClickHouse."""
    opened = ClickHouseClient(migrated_clickhouse.settings())
    yield opened
    await opened.close()
