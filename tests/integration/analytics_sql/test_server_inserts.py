"""Behaviour that clickhouse-connect requires of a server for inserts."""

import asyncio
import gzip
import io
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from ipaddress import IPv4Address
from uuid import UUID

import clickhouse_connect
import pytest
from clickhouse_connect.driver.asyncclient import AsyncClient
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from tests.integration.analytics_sql.conftest import ODD_TEXTS
from tests.services.clickhouse import ClickHouseAddress
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


ALL_TYPES = {
    "id": "UUID",
    "at": "DateTime64(3, 'UTC')",
    "day": "Date",
    "low": "LowCardinality(String)",
    "text": "String",
    "number": "Float64",
    "many": "Array(Float64)",
    "maybe": "Nullable(Int32)",
    "yes": "Bool",
    "exact": "Decimal(18, 4)",
    "map": "Map(String, UInt8)",
    "pair": "Tuple(UInt8, String)",
    "kind": "Enum8('camera' = 1, 'api' = 2)",
    "address": "IPv4",
}


def _row(number: int) -> tuple[object, ...]:
    at = datetime(2026, 1, 2, 3, 4, 5, number % 1000 * 1000, tzinfo=UTC)
    return (
        UUID(int=number),
        at,
        at.date(),
        f"low {number % 3}",
        ODD_TEXTS[number % len(ODD_TEXTS)],
        number / 7,
        [float(n) for n in range(number % 4)],
        None if number % 2 else number,
        number % 2 == 0,
        Decimal(number) / 10_000,
        {"a": number % 256},
        (number % 256, "x"),
        "camera" if number % 2 else "api",
        IPv4Address(number),
    )


def _create(client: Client, columns: dict[str, str]) -> None:
    fields = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    first = next(iter(columns))
    client.command(f"CREATE TABLE t ({fields}) ENGINE = MergeTree ORDER BY {first}")


def _count(client: Client) -> int:
    count = client.command("SELECT count() FROM t")
    assert isinstance(count, int)
    return count


class TestInserts:
    def test_every_type_is_read_as_it_was_inserted(self, client: Client) -> None:
        _create(client, ALL_TYPES)
        rows = [_row(number) for number in range(100)]

        client.insert("t", rows, column_names=list(ALL_TYPES))

        stored = client.query("SELECT * FROM t ORDER BY number", query_tz="UTC").result_rows
        assert [
            tuple(v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for v in row)
            for row in stored
        ] == rows

    @pytest.mark.parametrize("compress", [False, "lz4", "zstd", "gzip", True], ids=str)
    async def test_an_async_insert_works_in_every_coding(
        self, clickhouse_address: ClickHouseAddress, client: Client, compress: bool | str
    ) -> None:
        _create(client, {"n": "UInt64", "text": "String"})
        address = clickhouse_address
        writer = await clickhouse_connect.get_async_client(
            host=address.host,
            port=address.port,
            username=address.user,
            password=address.password,
            database=address.database,
            compress=compress,
        )

        summary = await writer.insert(
            "t", [[n, f"text {n}"] for n in range(100_000)], column_names=["n", "text"]
        )
        await writer.close()

        assert summary.written_rows == 100_000
        assert client.query("SELECT sum(n), uniqExact(text) FROM t").result_rows == [
            (sum(range(100_000)), 100_000)
        ]

    @pytest.mark.parametrize(
        "block",
        ["1\n2\n3\n", b"1\n2\n3\n", iter((b"1\n2", b"\n3\n"))],
        ids=("text", "bytes", "parts"),
    )
    def test_a_raw_insert_is_stored(
        self, client: Client, block: str | bytes | Iterator[bytes]
    ) -> None:
        _create(client, {"n": "UInt64"})

        client.raw_insert("t", ["n"], block, fmt="CSV")  # type: ignore[arg-type]

        assert client.query("SELECT groupArray(n) FROM t").result_rows == [([1, 2, 3],)]

    def test_a_raw_insert_of_a_compressed_file_is_stored(self, client: Client) -> None:
        _create(client, {"n": "UInt64"})
        data = gzip.compress(b"".join(b"%d\n" % n for n in range(200_000)))

        client.raw_insert("t", ["n"], io.BytesIO(data), fmt="TSV", compression="gzip")

        assert _count(client) == 200_000

    def test_a_long_insert_takes_a_table_whose_primary_key_is_shorter_than_its_order(
        self, client: Client
    ) -> None:
        client.command(
            "CREATE TABLE t (n UInt64, text String)"
            " ENGINE = MergeTree PRIMARY KEY n ORDER BY (n, text)"
        )
        # More data than the server buffers in memory.
        lines = b"".join(b"%d\t%01024d\n" % (n, n) for n in range(20_000))

        client.raw_insert("t", ["n", "text"], lines, fmt="TSV")

        assert _count(client) == 20_000

    def test_values_and_query_results_are_inserted(self, client: Client) -> None:
        _create(client, {"n": "UInt64", "text": "String"})

        client.command("INSERT INTO t VALUES (1, 'FORMAT'), (2, 'it''s; a value')")
        client.command("INSERT INTO t SELECT number + 10, 'q' FROM numbers(3)")

        rows = client.query("SELECT n, text FROM t ORDER BY n").result_rows
        assert rows == [(1, "FORMAT"), (2, "it's; a value"), (10, "q"), (11, "q"), (12, "q")]

    def test_missing_table_is_reported_while_data_is_still_coming(self, client: Client) -> None:
        def endless() -> Iterator[bytes]:
            for _ in range(64):
                yield b"1\n" * 500_000

        with pytest.raises(DatabaseError) as caught:
            client.raw_insert("nowhere", ["n"], endless(), fmt="TSV")  # type: ignore[arg-type]

        assert caught.value.code == 60

    def test_damaged_data_stores_nothing(self, client: Client) -> None:
        _create(client, {"n": "UInt64"})

        with pytest.raises(DatabaseError):
            client.raw_insert("t", ["n"], b"\x01\x05garbage", fmt="Native")

        assert _count(client) == 0
        assert client.ping()

    def test_damaged_compression_stores_nothing(self, client: Client) -> None:
        _create(client, {"n": "UInt64"})
        whole = gzip.compress(b"1\n" * 100_000)

        with pytest.raises(DatabaseError):
            client.raw_insert("t", ["n"], io.BytesIO(whole[:-20]), fmt="TSV", compression="gzip")

        assert _count(client) == 0

    def test_insert_that_breaks_off_stores_nothing(
        self, client: Client, clickhouse_address: ClickHouseAddress
    ) -> None:
        _create(client, {"n": "UInt64"})
        address = clickhouse_address
        query = f"INSERT%20INTO%20{address.database}.t%20FORMAT%20TSV"
        head = (
            f"POST /?query={query} HTTP/1.1\r\nHost: x\r\nX-ClickHouse-User: {address.user}\r\n"
            f"X-ClickHouse-Key: {address.password}\r\nContent-Length: 1000\r\n\r\n"
        )

        with socket.create_connection((address.host, address.port)) as connection:
            connection.sendall(head.encode() + b"1\n2\n3\n")

        client.insert("t", [[77]], column_names=["n"])
        wait_until(
            "it ended",
            lambda: (
                client.command(
                    "SELECT count() FROM system.processes WHERE query LIKE '%FORMAT TSV%'"
                    " AND query NOT LIKE '%system.processes%'"
                )
                == 0
            ),
            20,
        )
        assert client.query("SELECT n FROM t").result_rows == [(77,)]

    async def test_readers_and_writers_work_at_once(
        self, async_client: AsyncClient, client: Client
    ) -> None:
        _create(client, {"n": "UInt64"})

        async def write(worker: int) -> None:
            for n in range(20):
                await async_client.insert("t", [[worker * 100 + n]], column_names=["n"])

        async def read() -> list[int]:
            counts = []
            for _ in range(40):
                result = await async_client.query("SELECT count() FROM t")
                counts.append(result.result_rows[0][0])
            return counts

        counting = asyncio.create_task(read())
        await asyncio.gather(*(write(w) for w in range(5)))
        counts = await counting

        assert counts == sorted(counts)
        assert _count(client) == 100
