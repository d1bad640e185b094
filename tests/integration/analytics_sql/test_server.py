"""Behaviour that clickhouse-connect requires of a server, embedded or real."""

import asyncio
from uuid import UUID

import clickhouse_connect
import pytest
from clickhouse_connect.driver.asyncclient import AsyncClient
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError, StreamFailureError

from tests.integration.analytics_sql.conftest import ODD_TEXTS
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration


class TestQueries:
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
    def test_a_typed_parameter_arrives_as_it_is(
        self, client: Client, type_name: str, value: object
    ) -> None:
        rows = client.query(f"SELECT {{x:{type_name}}}", parameters={"x": value}).result_rows

        assert rows == [(value,)]

    def test_parameters_too_long_for_an_address_go_as_a_form(self, client: Client) -> None:
        text = "Ä'\\\n" * 50_000

        rows = client.query(
            "SELECT {text:String}, {n:UInt8}", parameters={"text": text, "n": 7}
        ).result_rows

        assert rows == [(text, 7)]

    def test_settings_do_not_leak_into_the_next_query(self, client: Client) -> None:
        before = client.query("SELECT getSetting('max_block_size')").result_rows

        client.query("SELECT 1", settings={"max_block_size": 77})

        assert client.query("SELECT getSetting('max_block_size')").result_rows == before

    @pytest.mark.parametrize("compress", [False, "lz4", "zstd", "gzip", "deflate", True], ids=str)
    def test_an_answer_is_the_same_in_every_coding(
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

    @pytest.mark.parametrize(
        ("answer_format", "expected"),
        [
            ("TSV", b"0\n1\n"),
            ("CSVWithNames", b'"number"\n0\n1\n'),
            ("JSONEachRow", b'{"number":0}\n{"number":1}\n'),
            ("RowBinary", b"\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"),
        ],
    )
    def test_other_formats_are_answered(
        self, client: Client, answer_format: str, expected: bytes
    ) -> None:
        sql = "SELECT number FROM numbers(2) SETTINGS output_format_json_quote_64bit_integers = 0"

        assert client.raw_query(sql, fmt=answer_format) == expected

    def test_a_format_with_a_header_writes_it_once_for_many_blocks(self, client: Client) -> None:
        text = client.raw_query("SELECT number FROM numbers(200000)", fmt="CSVWithNames")

        assert text.count(b"number") == 1
        assert text.endswith(b"199999\n")

    async def test_async_queries_run_at_once(self, async_client: AsyncClient) -> None:
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

    def test_an_unknown_database_is_refused(
        self, clickhouse_address: ClickHouseAddress, client: Client
    ) -> None:
        client.database = "nowhere"

        with pytest.raises(DatabaseError) as caught:
            client.query("SELECT 1 FROM system.one")

        assert caught.value.code == 81

    def test_a_failure_after_rows_were_sent_is_reported(self, client: Client) -> None:
        sql = "SELECT throwIf(number = 5000000, 'far enough') FROM numbers(100000000)"
        settings = {"max_block_size": 65_536, "max_threads": 1}

        with (
            pytest.raises(StreamFailureError, match="far enough") as caught,
            client.query_row_block_stream(sql, settings=settings) as blocks,
        ):
            for _ in blocks:
                pass

        assert caught.value.code == 395

    def test_the_time_limit_ends_a_query(self, client: Client) -> None:
        sql = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))"

        with pytest.raises(DatabaseError) as caught:
            client.query(sql, settings={"max_execution_time": 1})

        assert caught.value.code == 159

    def test_a_statement_that_is_too_long_is_refused(self, client: Client) -> None:
        with pytest.raises(DatabaseError, match="[Mm]ax query size exceeded"):
            client.query(f"SELECT '{'x' * 300_000}'")
