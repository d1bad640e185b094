"""Fixtures of the API tests: a migrated database for each test, and an application that uses it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from argon2 import PasswordHasher
from psycopg import sql
from sqlalchemy import Engine

from analytics_sql.client import ClickHouseClient
from api.adapters.clickhouse import ClickHouseStore
from api.db.database import Database
from api.db.engine import open_engine, plain_database_url
from api.db.migrate import migrate
from common.settings import DatabaseSettings, KafkaSettings
from tests.integration.api.application import (
    Application,
    Caller,
    Options,
    StandInStore,
    running_application,
)
from tests.integration.api.camera_worker import taking_cameras
from tests.integration.api.oidc_browser import Visitor
from tests.integration.api.people import browser_of, logged_in
from tests.integration.api.relays import Relaying, running_relay
from tests.integration.api.topic_reader import ConfigReader
from tests.services.clickhouse import ClickHouseAddress
from tests.services.oidc import OidcProvider
from tests.services.postgres import create_database

_END_OTHERS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid != pg_backend_pid()
"""
_EMPTY = """
SET session_replication_role = replica;
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT tablename FROM pg_tables
        WHERE schemaname = 'public' AND tablename != 'alembic_version'
    LOOP
        EXECUTE format('DELETE FROM %I', name);
    END LOOP;
END $$
"""


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> Iterator[None]:
    """Hash passwords at the lowest cost; the default takes 64 MiB and a tenth of a second."""
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with patch("api.security.credentials.PASSWORD_HASHER", cheap):
        yield


@pytest.fixture(scope="session")
def migrated_template(postgres_url: str) -> str:
    """Name of a migrated, empty database that tests copy."""
    settings = create_database(postgres_url)
    engine = open_engine(settings)
    migrate(engine)
    engine.dispose()
    return _name(settings)


@contextmanager
def copied_database(postgres_url: str, template: str) -> Iterator[DatabaseSettings]:
    """Yield the settings of a copy of a database, which is dropped at the end."""
    settings = create_database(postgres_url, template=template)
    yield settings
    # The last checkpoint of the server skips dropped databases. Writing dozens of databases took
    # half a minute.
    drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(_name(settings)))
    with psycopg.connect(postgres_url, autocommit=True, connect_timeout=10) as connection:
        connection.execute(drop)


@pytest.fixture
def fresh_database(postgres_url: str, migrated_template: str) -> Iterator[DatabaseSettings]:
    """Settings of a migrated database for one test that changes the schema."""
    with copied_database(postgres_url, migrated_template) as settings:
        yield settings


@pytest.fixture(scope="session")
def _shared_tables(postgres_url: str, migrated_template: str) -> Iterator[DatabaseSettings]:
    with copied_database(postgres_url, migrated_template) as settings:
        yield settings


@pytest.fixture
def api_database(_shared_tables: DatabaseSettings) -> Iterator[DatabaseSettings]:
    """Settings of a migrated database that is emptied after each test.

    Creating and dropping a database for each test would take ten times as long.
    """
    yield _shared_tables
    with psycopg.connect(plain_database_url(_shared_tables), autocommit=True) as connection:
        connection.execute(_END_OTHERS)
        connection.execute(_EMPTY)


def _name(settings: DatabaseSettings) -> str:
    return urlsplit(settings.database_url.get_secret_value()).path.removeprefix("/")


@pytest.fixture
async def database(api_database: DatabaseSettings) -> AsyncIterator[Database]:
    """A client of a migrated database without rows."""
    opened = Database(api_database, pool_size=8)
    yield opened
    opened.close()


@pytest.fixture
def stored() -> StandInStore:
    """The fake ClickHouse, whose content a test can set."""
    return StandInStore()


@pytest.fixture
async def application(database: Database, stored: StandInStore) -> AsyncIterator[Application]:
    """The API with a real database, and fakes of search, images and recogniser."""
    async with running_application(database, Options(store=stored)) as app:
        yield app


@pytest.fixture
async def owner(application: Application) -> Caller:
    """An account without credits, and its API key with all scopes."""
    return await application.new_owner()


@pytest.fixture
async def client(application: Application) -> AsyncIterator[httpx.AsyncClient]:
    """A client that sends an API key with all scopes."""
    caller = await application.new_owner(credits=50)
    async with application.client(caller) as opened:
        yield opened


@pytest.fixture
async def clickhouse(migrated_clickhouse: ClickHouseAddress) -> AsyncIterator[ClickHouseClient]:
    opened = ClickHouseClient(migrated_clickhouse.settings())
    yield opened
    await opened.close()


@pytest.fixture
async def administrator(
    application: Application, owner: Caller
) -> AsyncIterator[httpx.AsyncClient]:
    """A browser in which the first administrator of the account has logged in."""
    async with logged_in(application, owner.email) as opened:
        yield opened


@pytest.fixture
async def browser(application: Application) -> AsyncIterator[httpx.AsyncClient]:
    """A browser without a session."""
    async with browser_of(application) as opened:
        yield opened


@pytest.fixture
def visitor(browser: httpx.AsyncClient, oidc_provider: OidcProvider) -> Visitor:
    """A browser that can log in at the provider."""
    return Visitor(browser, oidc_provider)


@pytest.fixture
async def oidc_application(
    database: Database, oidc_provider: OidcProvider
) -> AsyncIterator[Application]:
    async with running_application(database, Options(more=oidc_provider.settings)) as app:
        yield app


@pytest.fixture
async def search_store(
    clickhouse: ClickHouseClient, migrated_clickhouse: ClickHouseAddress
) -> AsyncIterator[ClickHouseStore]:
    opened = ClickHouseStore(migrated_clickhouse.settings())
    yield opened
    await opened.close()


@pytest.fixture
async def searching_application(
    database: Database, search_store: ClickHouseStore
) -> AsyncIterator[Application]:
    """The API with a real ClickHouse."""
    async with running_application(database, Options(store=search_store)) as app:
        yield app


@pytest.fixture
async def owner_client(application: Application, owner: Caller) -> AsyncIterator[httpx.AsyncClient]:
    async with application.client(owner) as opened:
        yield opened


@pytest.fixture
def engine(api_database: DatabaseSettings) -> Iterator[Engine]:
    opened = open_engine(api_database, pool_size=4)
    yield opened
    opened.dispose()


@pytest.fixture
def relaying(api_database: DatabaseSettings, kafka_topics: KafkaSettings) -> Relaying:
    """A function that starts a relay of the test's database and topics."""
    return partial(running_relay, api_database, kafka_topics)


@pytest.fixture
def reader(kafka_topics: KafkaSettings) -> Iterator[ConfigReader]:
    opened = ConfigReader(kafka_topics)
    yield opened
    opened.close()


@pytest.fixture
async def worker(application: Application) -> AsyncIterator[None]:
    """A worker that claims every camera as soon as its record is in the outbox."""
    async with taking_cameras(application):
        yield
