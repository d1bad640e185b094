"""Rows go into ClickHouse a batch at once."""

from collections.abc import Mapping, Sequence

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.connection import clickhouse_errors


async def insert_values(
    client: AsyncClient,
    table: str,
    column_types: Mapping[str, str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Write rows; when this returns they are stored.

    ``column_types`` gives name and type of each column, in the order of a row's values.

    Raises:
        TransientError: ClickHouse is away or busy: the same rows may be written again.
        QueryFailedError: ClickHouse refuses at least one of them.
    """
    if not rows:
        return
    with clickhouse_errors():
        await client.insert(
            table,
            list(zip(*rows, strict=True)),
            column_names=list(column_types),
            column_type_names=list(column_types.values()),
            column_oriented=True,
            # Rows of very many months are no reason to be refused.
            settings={"max_partitions_per_insert_block": 0},
        )
