"""Counts the rows that ClickHouse returns for each ID."""

from uuid import UUID

import clickhouse_connect

from common.settings import ClickHouseSettings


def count_rows(settings: ClickHouseSettings, table: str) -> dict[UUID, int]:
    """Return the number of visible rows for each ID in a table."""
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
