"""Recognitions as ClickHouse stores them."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from clickhouse_connect.driver.client import Client

from analytics_sql.migrate import migrate
from tests.services.clickhouse import ClickHouseAddress


@contextmanager
def migrated(address: ClickHouseAddress) -> Iterator[Client]:
    """Migrate the database to this release's schema, and yield a client."""
    client = address.client()
    try:
        migrate(client, retention_days=36_500)
        yield client
    finally:
        client.close()


def stored_ids(client: Client) -> list[UUID]:
    """Return the ID of every recognition as readers see it (with FINAL)."""
    return [row[0] for row in client.query("SELECT id FROM recognitions FINAL").result_rows]
