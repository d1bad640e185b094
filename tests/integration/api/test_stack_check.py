"""Output of `platestream stack check` with a real database."""

from collections.abc import AsyncIterator, Iterator

import pytest
from clickhouse_connect.driver.client import Client
from sqlalchemy import text

from analytics_sql.client import query_text
from analytics_sql.migrate import migrate, migrations
from api.adapters.clickhouse import ClickHouseStore
from api.db.database import Database
from api.db.migrate import current_revision, head_revision
from api.health.stack_check import check_database
from common.errors import MisconfiguredError, TransientError
from common.settings import DatabaseSettings
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration


@pytest.fixture
def api_database(fresh_database: DatabaseSettings) -> DatabaseSettings:
    """Settings of a database that a test may change, including its schema."""
    return fresh_database


async def test_a_current_database_passes(database: Database) -> None:
    await database.run(check_database)

    with database.engine.connect() as connection:
        assert current_revision(connection) == head_revision()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE alembic_version SET version_num = '0000'", "0000"),
        ("DROP TABLE alembic_version", "base"),
    ],
)
async def test_tables_of_another_release_are_named(
    database: Database, change: str, found: str
) -> None:
    with database.engine.begin() as connection:
        connection.execute(text(change))

    words = f"revision {found}, but this release needs {head_revision()}"
    with pytest.raises(TransientError, match=words):
        await database.run(check_database)


async def test_a_read_only_database_is_named(database: Database) -> None:
    with database.engine.begin() as connection:
        name = connection.execute(text("SELECT current_database()")).scalar_one()
        connection.execute(text(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'))
    database.engine.dispose()

    with pytest.raises(TransientError, match="the database is read-only: ReadOnlySqlTransaction"):
        await database.run(check_database)


@pytest.fixture
def schema(clickhouse_address: ClickHouseAddress) -> Iterator[Client]:
    """A client of a database with this release's schema."""
    client = clickhouse_address.client()
    migrate(client, retention_days=400)
    yield client
    client.close()


@pytest.fixture
async def store(clickhouse_address: ClickHouseAddress) -> AsyncIterator[ClickHouseStore]:
    """ClickHouse with the client that the API and the command use."""
    store = ClickHouseStore(clickhouse_address.settings())
    yield store
    await store.close()


async def test_clickhouse_of_this_release_or_a_newer_one_passes(
    schema: Client, store: ClickHouseStore
) -> None:
    await store.ping()
    schema.insert("schema_migrations", [[9999, "newer", ""]], ["version", "name", "checksum"])
    await store.ping()


async def test_clickhouse_of_an_older_release_is_named(
    schema: Client, store: ClickHouseStore
) -> None:
    last = migrations()[-1]
    schema.command(query_text("migration_forget"), parameters={"version": last.version})
    with pytest.raises(
        MisconfiguredError, match=f"missing ClickHouse migrations: {last.version:04} {last.name}"
    ):
        await store.ping()


async def test_clickhouse_without_tables_is_named(store: ClickHouseStore) -> None:
    with pytest.raises(MisconfiguredError):
        await store.ping()
