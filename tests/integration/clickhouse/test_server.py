"""What clickhouse-connect needs of a ClickHouse server, the embedded one or a real one."""

import asyncio
import gzip
import io
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from ipaddress import IPv4Address
from uuid import UUID, uuid4

import clickhouse_connect
import pytest
from clickhouse_connect.driver.asyncclient import AsyncClient
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError, StreamFailureError

from tests.integration.clickhouse.conftest import Http
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

_DEADLINE_SECONDS = 20.0
ODD_TEXTS = (
    "",
    "O'Hara",
    "back\\slash",
    "tab\tline\nreturn\r",
    '"quoted"',
    "Grüße 車 🚗",
    "%_\\%",
    "{x}",
)


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition was never met"
        time.sleep(0.02)


class TestQueries:
    def test_ping(self, client: Client) -> None:
        assert client.ping()

    def test_server_says_version_and_utc(self, client: Client) -> None:
        assert int(str(client.server_version).split(".")[0]) >= 26
        assert client.query("SELECT toTypeName(now())").result_rows == [("DateTime",)]

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=repr)
    def test_text_parameter_arrives_as_it_is(self, client: Client, text: str) -> None:
        rows = client.query("SELECT {text:String}", parameters={"text": text}).result_rows

        assert rows == [(text,)]

    @pytest.mark.parametrize(
        ("type_name", "value"),
        [
            ("Int64", -(2**63)),
            ("UInt64", 2**64 - 1),
            ("Float64", 0.1),
            ("UUID", UUID("01930000-0000-8000-8000-00000000abcd")),
            ("Nullable(UUID)", None),
            ("Nullable(Int64)", None),
            ("Array(String)", ["a'b", "c\\d"]),
            ("Bool", True),
        ],
    )
    def test_typed_parameter(self, client: Client, type_name: str, value: object) -> None:
        rows = client.query(f"SELECT {{x:{type_name}}}", parameters={"x": value}).result_rows

        assert rows == [(value,)]

    def test_parameters_too_long_for_an_address_go_as_a_form(self, client: Client) -> None:
        text = "Ä'\\\n" * 50_000

        rows = client.query(
            "SELECT {text:String}, {n:UInt8}", parameters={"text": text, "n": 7}
        ).result_rows

        assert rows == [(text, 7)]

    def test_settings_of_a_query(self, client: Client) -> None:
        rows = client.query("SELECT getSetting('max_threads')", settings={"max_threads": 1})

        assert rows.result_rows == [(1,)]

    def test_settings_do_not_leak_into_the_next_query(self, client: Client) -> None:
        before = client.query("SELECT getSetting('max_block_size')").result_rows

        client.query("SELECT 1", settings={"max_block_size": 77})

        assert client.query("SELECT getSetting('max_block_size')").result_rows == before

    def test_database_of_the_client(
        self, client: Client, clickhouse_address: ClickHouseAddress
    ) -> None:
        rows = client.query("SELECT currentDatabase()").result_rows

        assert rows == [(clickhouse_address.database,)]

    @pytest.mark.parametrize("compress", [False, "lz4", "zstd", "gzip", "deflate", True], ids=str)
    def test_answer_in_every_coding(
        self, clickhouse_address: ClickHouseAddress, compress: bool | str
    ) -> None:
        address = clickhouse_address
        client = clickhouse_connect.get_client(
            host=address.host,
            port=address.port,
            username=address.user,
            password=address.password,
            compress=compress,
        )

        rows = client.query("SELECT number, toString(number) FROM numbers(300000)").result_rows

        assert rows == [(n, str(n)) for n in range(300_000)]
        client.close()

    def test_empty_result_keeps_its_columns(self, client: Client) -> None:
        result = client.query("SELECT 1 AS a, 'x' AS b LIMIT 0")

        assert result.column_names == ("a", "b")
        assert result.result_rows == []

    @pytest.mark.parametrize(
        ("answer_format", "expected"),
        [
            ("TSV", b"0\n1\n"),
            ("CSVWithNames", b'"number"\n0\n1\n'),
            ("JSONEachRow", b'{"number":0}\n{"number":1}\n'),
            ("RowBinary", b"\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"),
        ],
    )
    def test_other_formats(self, client: Client, answer_format: str, expected: bytes) -> None:
        sql = "SELECT number FROM numbers(2) SETTINGS output_format_json_quote_64bit_integers = 0"

        assert client.raw_query(sql, fmt=answer_format) == expected

    def test_format_with_a_frame_around_many_blocks(self, client: Client) -> None:
        text = client.raw_query("SELECT number FROM numbers(200000)", fmt="CSVWithNames")

        assert text.count(b"number") == 1
        assert text.endswith(b"199999\n")

    def test_rows_come_as_a_stream(self, client: Client) -> None:
        seen = 0
        with client.query_row_block_stream("SELECT number FROM numbers(3000000)") as blocks:
            for block in blocks:
                assert block[0][0] == seen
                seen += len(block)

        assert seen == 3_000_000

    def test_command_returns_a_value(self, client: Client) -> None:
        assert client.command("SELECT count() FROM numbers(5)") == 5
        assert client.command("SELECT ''") == ""

    def test_show_and_describe(self, client: Client) -> None:
        client.command("CREATE TABLE t (a UInt8) ENGINE = Memory")

        assert client.query("SHOW TABLES").result_rows == [("t",)]
        assert client.query("DESCRIBE TABLE t").result_rows[0][:2] == ("a", "UInt8")

    async def test_async_queries_at_once(self, async_client: AsyncClient) -> None:
        results = await asyncio.gather(
            *(async_client.query("SELECT {n:UInt32}", parameters={"n": n}) for n in range(100))
        )

        assert [result.result_rows[0][0] for result in results] == list(range(100))

    def test_answer_names_query_and_what_it_read(self, client: Client) -> None:
        result = client.query("SELECT * FROM numbers(10)", settings={"query_id": "my-query"})

        assert result.query_id == "my-query"
        assert int(result.summary["read_rows"]) == 10


class TestErrors:
    @pytest.mark.parametrize(
        ("sql", "code"),
        [
            ("SELEC 1", 62),
            ("SELECT 1; SELECT 2", 62),
            ("SELECT * FROM nowhere", 60),
            ("SELECT nothing", 47),
            ("SELECT no_such_function(1)", 46),
            ("SELECT toUInt8('x')", 6),
            ("SELECT throwIf(1)", 395),
            ("SELECT {missing:UInt8}", 456),
        ],
    )
    def test_code_of_a_refused_statement(self, client: Client, sql: str, code: int) -> None:
        with pytest.raises(DatabaseError, match=f"Code: {code}\\.") as caught:
            client.query(sql)

        assert caught.value.code == code

    def test_unreadable_parameter(self, client: Client) -> None:
        with pytest.raises(DatabaseError) as caught:
            client.query("SELECT {x:UInt8}", parameters={"x": "many"})

        assert caught.value.code == 457

    async def test_async_client_gets_the_code_too(self, async_client: AsyncClient) -> None:
        with pytest.raises(DatabaseError) as caught:
            await async_client.query("SELECT * FROM nowhere")

        assert caught.value.code == 60

    def test_unknown_database(self, clickhouse_address: ClickHouseAddress, client: Client) -> None:
        client.database = "nowhere"

        with pytest.raises(DatabaseError) as caught:
            client.query("SELECT 1 FROM system.one")

        assert caught.value.code == 81

    def test_failure_after_rows_were_sent(self, client: Client) -> None:
        sql = "SELECT throwIf(number = 5000000, 'far enough') FROM numbers(100000000)"
        settings = {"max_block_size": 65_536, "max_threads": 1}

        with (
            pytest.raises(StreamFailureError, match="far enough") as caught,
            client.query_row_block_stream(sql, settings=settings) as blocks,
        ):
            for _ in blocks:
                pass

        assert caught.value.code == 395

    def test_wrong_password(self, clickhouse_address: ClickHouseAddress) -> None:
        address = clickhouse_address
        with pytest.raises(DatabaseError) as caught:
            clickhouse_connect.get_client(
                host=address.host, port=address.port, username=address.user, password="guess"
            )

        assert caught.value.code == 516

    def test_time_limit(self, client: Client) -> None:
        sql = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))"

        with pytest.raises(DatabaseError) as caught:
            client.query(sql, settings={"max_execution_time": 1})

        assert caught.value.code == 159

    def test_statement_too_long(self, client: Client) -> None:
        with pytest.raises(DatabaseError, match="[Mm]ax query size exceeded"):
            client.query(f"SELECT '{'x' * 300_000}'")


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
    def test_every_type_there_and_back(self, client: Client) -> None:
        _create(client, ALL_TYPES)
        rows = [_row(number) for number in range(100)]

        client.insert("t", rows, column_names=list(ALL_TYPES))

        stored = client.query("SELECT * FROM t ORDER BY number", query_tz="UTC").result_rows
        assert [
            tuple(v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for v in row)
            for row in stored
        ] == rows

    @pytest.mark.parametrize("compress", [False, "lz4", "zstd", "gzip", True], ids=str)
    async def test_async_insert_in_every_coding(
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

    def test_columns_as_the_sink_writes_them(self, client: Client) -> None:
        _create(client, {"n": "UInt64", "at": "DateTime64(3, 'UTC')"})

        client.insert(
            "t",
            [[1, 2], [1_700_000_000_123, 1_700_000_000_124]],
            column_names=["n", "at"],
            column_type_names=["UInt64", "DateTime64(3, 'UTC')"],
            column_oriented=True,
        )

        rows = client.query("SELECT n, toUnixTimestamp64Milli(at) FROM t ORDER BY n").result_rows
        assert rows == [(1, 1_700_000_000_123), (2, 1_700_000_000_124)]

    @pytest.mark.parametrize(
        "block",
        ["1\n2\n3\n", b"1\n2\n3\n", iter((b"1\n2", b"\n3\n"))],
        ids=("text", "bytes", "parts"),
    )
    def test_raw_insert(self, client: Client, block: str | bytes | Iterator[bytes]) -> None:
        _create(client, {"n": "UInt64"})

        client.raw_insert("t", ["n"], block, fmt="CSV")  # type: ignore[arg-type]

        assert client.query("SELECT groupArray(n) FROM t").result_rows == [([1, 2, 3],)]

    def test_raw_insert_of_a_compressed_file(self, client: Client) -> None:
        _create(client, {"n": "UInt64"})
        data = gzip.compress(b"".join(b"%d\n" % n for n in range(200_000)))

        client.raw_insert("t", ["n"], io.BytesIO(data), fmt="TSV", compression="gzip")

        assert _count(client) == 200_000

    def test_insert_of_values_and_from_a_query(self, client: Client) -> None:
        _create(client, {"n": "UInt64", "text": "String"})

        client.command("INSERT INTO t VALUES (1, 'FORMAT'), (2, 'it''s; a value')")
        client.command("INSERT INTO t SELECT number + 10, 'q' FROM numbers(3)")

        rows = client.query("SELECT n, text FROM t ORDER BY n").result_rows
        assert rows == [(1, "FORMAT"), (2, "it's; a value"), (10, "q"), (11, "q"), (12, "q")]

    def test_column_names_that_look_like_keywords(self, client: Client) -> None:
        client.command("CREATE TABLE t (`FORMAT x` UInt8, `values` UInt8) ENGINE = Memory")

        client.insert("t", [[1, 2]], column_names=["FORMAT x", "values"])

        assert client.query("SELECT * FROM t").result_rows == [(1, 2)]

    def test_stored_rows_are_seen_by_the_next_query(self, client: Client) -> None:
        _create(client, {"n": "UInt64"})

        for n in range(50):
            client.insert("t", [[n]], column_names=["n"])
            assert _count(client) == n + 1

    def test_missing_table_is_told_while_data_is_still_coming(self, client: Client) -> None:
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
        _wait_until(
            lambda: (
                client.command(
                    "SELECT count() FROM system.processes WHERE query LIKE '%FORMAT TSV%'"
                    " AND query NOT LIKE '%system.processes%'"
                )
                == 0
            )
        )
        assert client.query("SELECT n FROM t").result_rows == [(77,)]

    async def test_readers_beside_writers(self, async_client: AsyncClient, client: Client) -> None:
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


class TestHttp:
    def test_ping_and_root_need_no_user(self, clickhouse_address: ClickHouseAddress) -> None:
        with socket.create_connection((clickhouse_address.host, clickhouse_address.port)) as raw:
            raw.sendall(b"GET /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = b"".join(iter(lambda: raw.recv(4096), b""))

        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"Ok.\n")

    @pytest.mark.parametrize(
        ("sql", "status", "code"),
        [
            ("SELEC 1", 400, "62"),
            ("SELECT * FROM nowhere", 404, "60"),
            ("SELECT 1 SETTINGS nothing = 1", 404, "115"),
            ("SELECT sleep(2) SETTINGS max_execution_time = 0.1", 408, "159"),
            ("SELECT throwIf(1)", 500, "395"),
        ],
    )
    def test_status_and_code(self, http: Http, sql: str, status: int, code: str) -> None:
        answer = http("POST", "/", body=sql)

        assert answer.status == status
        assert answer.headers["X-ClickHouse-Exception-Code"] == code
        assert answer.data.startswith(f"Code: {code}. DB::Exception: ".encode())

    def test_wrong_user(self, http: Http) -> None:
        answer = http("POST", "/", body="SELECT 1", headers={"X-ClickHouse-User": "nobody"})

        assert answer.status == 403
        assert answer.headers["X-ClickHouse-Exception-Code"] == "516"

    def test_headers_of_an_answer(self, http: Http) -> None:
        answer = http("POST", "/?query_id=abc", body="SELECT 1")

        assert answer.data == b"1\n"
        assert answer.headers["X-ClickHouse-Query-Id"] == "abc"
        assert answer.headers["X-ClickHouse-Format"] == "TabSeparated"
        assert answer.headers["X-ClickHouse-Timezone"]
        assert answer.headers["X-ClickHouse-Server-Display-Name"]

    def test_default_format(self, http: Http) -> None:
        answer = http("POST", "/?default_format=JSONEachRow", body="SELECT 1 AS a")

        assert answer.data == b'{"a":1}\n'
        assert answer.headers["X-ClickHouse-Format"] == "JSONEachRow"

    def test_statement_in_the_address_and_its_end_in_the_body(self, http: Http) -> None:
        assert http("POST", "/?query=SELECT", body=" 1 + 1").data == b"2\n"

    def test_get_may_only_read(self, http: Http) -> None:
        answer = http("GET", "/?query=CREATE%20TABLE%20x%20(a%20UInt8)%20ENGINE%20=%20Memory")

        assert answer.headers["X-ClickHouse-Exception-Code"] == "164"
        assert http("GET", "/?query=SELECT%201").data == b"1\n"

    def test_unknown_setting(self, http: Http) -> None:
        answer = http("POST", "/?no_such_setting=1", body="SELECT 1")

        assert answer.status == 404
        assert answer.headers["X-ClickHouse-Exception-Code"] == "115"

    def test_parameter_in_the_address(self, http: Http) -> None:
        assert http("POST", "/?param_x=5", body="SELECT {x:UInt8} + 1").data == b"6\n"

    def test_connection_is_kept_after_an_error(self, http: Http) -> None:
        answer = http("POST", "/", body="SELEC 1")

        assert answer.headers.get("Connection", "keep-alive").lower() != "close"

    def test_query_ends_with_its_client(
        self, client: Client, clickhouse_address: ClickHouseAddress
    ) -> None:
        address, mark = clickhouse_address, uuid4().hex
        sql = f"SELECT count(), '{mark}' FROM numbers(100000000000) WHERE sipHash64(number) = 1"
        head = (
            "POST /?cancel_http_readonly_queries_on_client_close=1 HTTP/1.1\r\nHost: x\r\n"
            f"X-ClickHouse-User: {address.user}\r\nX-ClickHouse-Key: {address.password}\r\n"
            f"Content-Length: {len(sql)}\r\n\r\n"
        )

        def running() -> bool:
            count = client.command(
                f"SELECT count() FROM system.processes WHERE query LIKE '%{mark}%'"
                " AND query NOT LIKE '%processes%'"
            )
            return count == 1

        with socket.create_connection((address.host, address.port)) as connection:
            connection.sendall(head.encode() + sql.encode())
            _wait_until(running)

        _wait_until(lambda: not running())
