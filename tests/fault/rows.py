"""How many rows ClickHouse shows for each id."""

from uuid import UUID

import clickhouse_connect

from common.settings import ClickHouseSettings


def count_rows(settings: ClickHouseSettings, table: str) -> dict[UUID, int]:
    """Return for each id of a table how many rows a reader sees."""
    client = clickhouse_connect.get_client(
        dsn=settings.clickhouse_url,
        username=settings.clickhouse_user,
        password=settings.clickhouse_password.get_secret_value(),
        database=settings.clickhouse_database,
        autogenerate_session_id=False,
    )
    try:
        found = client.query(f"SELECT id, count() FROM {table} FINAL GROUP BY id").result_rows
        return {row[0]: row[1] for row in found}
    finally:
        client.close()
