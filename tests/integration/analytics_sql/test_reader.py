"""The read-only user of the embedded server."""

import csv
import io
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode
from uuid import UUID

import clickhouse_connect
import pytest
import urllib3
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from analytics_sql.migrate import migrate
from tests.services.clickhouse import (
    ClickHouseAddress,
    ClickHouseService,
    create_database,
    start_clickhouse,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

_SECRET = "what only the server's user may read"
_READONLY, _DENIED = "164", "497"
_LONG_QUERY = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseService]:
    """A server that limits its analyst to one query at a time, and a query to two seconds."""
    service = start_clickhouse(
        tmp_path_factory.mktemp("clickhouse"),
        **{
            "deploy.clickhouse.app.READER_QUERIES": "1",
            "deploy.clickhouse.reader.QUERY_SECONDS": "2",
            "deploy.clickhouse.reader.MEMORY_BYTES": str(64 << 20),
        },
    )
    yield service
    service.stop()


@pytest.fixture(scope="module")
def database(service: ClickHouseService) -> ClickHouseAddress:
    """The service's address of a database with this release's schema and one recognition."""
    address = create_database(service.address)
    client = address.client()
    migrate(client, retention_days=36_500)
    client.command(
        "INSERT INTO recognitions (user_id, id, ts, plate) SELECT"
        f" toUUID('{UUID(int=1)}'), generateUUIDv4(), now64(3), 'AB12CD'"
    )
    client.close()
    return address


@pytest.fixture(scope="module")
def analyst(service: ClickHouseService, database: ClickHouseAddress) -> ClickHouseAddress:
    """The analyst's address of the same database."""
    given = service.analyst
    return ClickHouseAddress(given.host, given.port, given.user, given.password, database.database)


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that the user of the server process can read."""
    path = tmp_path_factory.mktemp("secret") / "secret.txt"
    path.write_text(_SECRET)
    return path


@pytest.fixture
def client(analyst: ClickHouseAddress) -> Iterator[Client]:
    """A client of clickhouse-connect with the analyst's user."""
    client = analyst.client()
    yield client
    client.close()


def _ask(
    address: ClickHouseAddress,
    sql: str | bytes,
    *,
    method: str = "POST",
    fields: dict[str, str] | None = None,
) -> urllib3.BaseHTTPResponse:
    query = {"database": address.database, **(fields or {})}
    if method == "GET":
        query["query"] = sql if isinstance(sql, str) else sql.decode()
    url = f"{address.url}/?{urlencode(query)}"
    headers = {"X-ClickHouse-User": address.user, "X-ClickHouse-Key": address.password}
    body = None if method == "GET" else sql
    return urllib3.request(method, url, body=body, headers=headers, timeout=30, retries=False)


def _refusal(answer: urllib3.BaseHTTPResponse) -> str | None:
    return answer.headers.get("X-ClickHouse-Exception-Code")


class TestReading:
    def test_tables_can_be_listed(self, client: Client) -> None:
        sql = "SELECT name FROM system.tables WHERE database = currentDatabase()"

        names = {row[0] for row in client.query(sql).result_rows}

        assert "analysis_recognitions" in names
        assert client.query("SHOW TABLES").result_rows

    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_answers_come_as_csv_and_parquet(self, analyst: ClickHouseAddress, method: str) -> None:
        sql = "SELECT plate, ts FROM analysis_recognitions"

        lines = _ask(analyst, f"{sql} FORMAT CSVWithNames", method=method).data.decode()
        parquet = _ask(analyst, f"{sql} FORMAT Parquet", method=method).data

        assert list(csv.DictReader(io.StringIO(lines)))[0]["plate"] == "AB12CD"
        assert parquet.startswith(b"PAR1")
        assert parquet.endswith(b"PAR1")

    def test_settings_that_shape_the_answer(self, analyst: ClickHouseAddress) -> None:
        fields = {"session_timezone": "Asia/Tokyo", "readonly": "0", "default_format": "JSON"}

        answer = _ask(analyst, "SELECT toString(toDateTime(0)) AS at", fields=fields)

        assert json.loads(answer.data)["data"] == [{"at": "1970-01-01 09:00:00"}]

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT count() FROM analysis_recognitions -- file('x')",
            "SELECT 'file(''x'')', \"plate\" FROM analysis_recognitions",
            "DESCRIBE analysis_recognitions",
            "EXPLAIN indexes = 1 SELECT count() FROM analysis_recognitions",
            "SHOW CREATE TABLE analysis_recognitions",
            "SELECT * FROM information_schema.tables LIMIT 1",
            "WITH t AS (SELECT 1) SELECT * FROM t",
            "(SELECT 1) UNION ALL (SELECT 2)",
        ],
    )
    def test_usual_questions_of_analysts_are_answered(
        self, analyst: ClickHouseAddress, sql: str
    ) -> None:
        answer = _ask(analyst, sql)

        assert answer.status == 200, answer.data

    def test_a_mistake_is_explained(self, analyst: ClickHouseAddress) -> None:
        answer = _ask(analyst, "SELECT a FROM t WHERE")

        assert _refusal(answer) == "62"
        assert b"failed at position" in answer.data
        assert b"formatQuery" not in answer.data


class TestRefusals:
    @pytest.mark.parametrize("method", ["GET", "POST"])
    @pytest.mark.parametrize(
        "sql",
        [
            "INSERT INTO recognitions (plate) VALUES ('X')",
            "INSERT INTO recognitions (plate) SELECT 'X'",
            "INSERT INTO recognitions (plate) FORMAT CSV\nX\n",
            "CREATE TABLE x (a UInt8) ENGINE = Memory",
            "CREATE TEMPORARY TABLE x (a UInt8)",
            "CREATE VIEW x AS SELECT 1",
            "DROP TABLE recognitions",
            "DROP VIEW analysis_recognitions",
            "TRUNCATE TABLE recognitions",
            "RENAME TABLE recognitions TO x",
            "OPTIMIZE TABLE recognitions FINAL",
            "DELETE FROM recognitions WHERE 1",
            "ALTER TABLE recognitions DELETE WHERE 1",
            "ALTER TABLE recognitions DROP COLUMN plate",
            "KILL QUERY WHERE 1",
            "/* a */ kill query where 1 async",
            "SET readonly = 0",
            "SELECT 1 SETTINGS readonly = 0",
            "SELECT 1 SETTINGS max_threads = 64",
            "SYSTEM FLUSH LOGS",
            "GRANT SELECT ON *.* TO default",
            "BACKUP DATABASE default TO File('x')",
            "BACKUP DATABASE default TO Disk('backups', 'x')",
            "RESTORE DATABASE default FROM Disk('backups', 'x')",
            "SELECT * FROM url('http://127.0.0.1:1/', 'CSV')",
            "EXPLAIN SELECT * FROM url('http://127.0.0.1:1/', 'CSV')",
        ],
    )
    def test_writing_is_refused(
        self, analyst: ClickHouseAddress, database: ClickHouseAddress, method: str, sql: str
    ) -> None:
        answer = _ask(analyst, sql, method=method)

        assert _refusal(answer) in (_READONLY, _DENIED), answer.data
        assert _ask(database, "SELECT count() FROM analysis_recognitions").data == b"1\n"

    def test_an_insert_is_announced_before_its_data_is_taken(self, client: Client) -> None:
        with pytest.raises(DatabaseError) as caught:
            client.insert("recognitions", [["X"]], column_names=["plate"])

        assert caught.value.code == int(_READONLY)

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT file('PATH')",
            "SELECT file ('PATH')",
            "SELECT file/**/('PATH')",
            "SELECT file /* a /* nested */ comment */ ('PATH')",
            "SELECT file -- to the end\n('PATH')",
            "SELECT file # to the end\n('PATH')",
            "SELECT file#!to the end\n('PATH')",
            "SELECT 1 -- '\n, file('PATH') -- '",
            "SELECT '\\\\', file('PATH'), '\\\\'",
            "SELECT $$'$$, file('PATH'), $$'$$",
            "SELECT $a$ ' $$ $a$, file('PATH'), $a$ ' $a$",
            "SELECT `file`('PATH')",
            "SELECT `fi\\x6ce`('PATH')",
            "SELECT \"file\"('PATH')",
            "SELECT \u201cfile\u201d('PATH')",
            "SELECT \u2018a\u2019, file('PATH')",
            "SELECT arrayMap(file, ['PATH'])",
            "SELECT arrayMap(x -> file(x), ['PATH'])",
            "SELECT * APPLY(file) FROM (SELECT 'PATH')",
            "SELECT * APPLY `file` FROM (SELECT 'PATH')",
            "SELECT arrayMap({name:Identifier}, ['PATH'])",
            "SELECT arrayMap({ name : Identifier }, ['PATH'])",
            "SELECT {text:String}, file('PATH')",
            "WITH file('PATH') AS x SELECT x",
            "SELECT 1 IN file('PATH')",
            "EXPLAIN SELECT file('PATH')",
            "EXPLAIN SYNTAX SELECT file('PATH')",
            "FROM system.one SELECT file('PATH')",
            "(((SELECT file('PATH'))))",
            "SELECT 1; SELECT file('PATH')",
            "SELECT * FROM file('PATH', 'LineAsString')",
            "SELECT * FROM 'PATH'",
            "SELECT * FROM `PATH`",
            "DESCRIBE file('PATH', 'CSV')",
            "DESCRIBE TABLE `file`('PATH')",
            "DESC (SELECT * FROM file('PATH', 'CSV'))",
            "SELECT * FROM eval('SELECT file(''PATH'')')",
            "SELECT * FROM fileCluster('default', 'PATH')",
            "SELECT * FROM python('x')",
        ],
    )
    def test_reading_files_is_refused(
        self, analyst: ClickHouseAddress, secret: Path, sql: str
    ) -> None:
        fields = {"param_name": "file", "param_text": "'"}

        answer = _ask(analyst, sql.replace("PATH", str(secret)).encode(), fields=fields)

        assert _refusal(answer), answer.data
        assert _SECRET.encode() not in answer.data

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT 1 INTO OUTFILE 'PATH'",
            "SELECT 1 INTO/**/OUTFILE 'PATH' TRUNCATE FORMAT CSV",
            "SHOW TABLES into outfile 'PATH'",
            "DESCRIBE system.one INTO OUTFILE 'PATH'",
            "EXPLAIN SELECT 1 INTO OUTFILE 'PATH'",
            "EXISTS TABLE x INTO OUTFILE 'PATH'",
        ],
    )
    def test_writing_files_is_refused(
        self, analyst: ClickHouseAddress, tmp_path: Path, sql: str
    ) -> None:
        path = tmp_path / "out"

        answer = _ask(analyst, sql.replace("PATH", str(path)))

        assert _refusal(answer) == _READONLY
        assert not path.exists()

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT * FROM file('PATH', 'LineAsString')",
            "SELECT * FROM default.`PATH`",
            "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
            "SELECT * FROM remote('127.0.0.1:1', 'system.one')",
            "CREATE TABLE x (a String) ENGINE = File(CSV, 'PATH')",
            "CREATE TABLE x (a String) ENGINE = URL('http://127.0.0.1:1/', CSV)",
            "CREATE TABLE x (a String) ENGINE = S3('http://127.0.0.1:1/bucket/x', CSV)",
            "CREATE DICTIONARY x (a String) PRIMARY KEY a SOURCE(FILE(path 'PATH' format 'CSV'))"
            " LAYOUT(FLAT()) LIFETIME(0)",
            "CREATE USER x",
        ],
    )
    def test_the_engine_itself_opens_no_files_and_servers(
        self, database: ClickHouseAddress, secret: Path, sql: str
    ) -> None:
        answer = _ask(database, sql.replace("PATH", str(secret)))

        assert _refusal(answer) == _DENIED
        assert _SECRET.encode() not in answer.data

    @pytest.mark.parametrize("name", ["format_template_row", "format_template_resultset"])
    def test_settings_that_read_files_are_refused(
        self, analyst: ClickHouseAddress, secret: Path, name: str
    ) -> None:
        answer = _ask(analyst, "SELECT 1 FORMAT Template", fields={name: str(secret)})

        assert _refusal(answer) == _READONLY

    def test_settings_that_write_files_are_refused(
        self, analyst: ClickHouseAddress, tmp_path: Path
    ) -> None:
        path = tmp_path / "schema.proto"

        answer = _ask(
            analyst, "SELECT 1 AS a FORMAT Protobuf", fields={"output_format_schema": str(path)}
        )

        assert _refusal(answer) == _READONLY
        assert not path.exists()

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT query FROM system.processes",
            "SELECT query FROM `sys\\x74em`.`processes`",
            "SELECT * FROM merge('system', 'processes')",
            "SELECT * FROM view(SELECT * FROM system.processes)",
            "SELECT * FROM {base:Identifier}.processes",
            "SELECT * FROM {whole:Identifier}",
            "SELECT * FROM {an$odd$one:Identifier}.processes",
            "SHOW PROCESSLIST",
            "SELECT last_error_message FROM system.errors",
            "SELECT * FROM system.stack_trace",
        ],
    )
    def test_queries_and_tables_of_others_are_refused(
        self, analyst: ClickHouseAddress, sql: str
    ) -> None:
        fields = {
            "param_base": "system",
            "param_whole": "system.processes",
            "param_an$odd$one": "system",
        }

        assert _refusal(_ask(analyst, sql, fields=fields)) == _DENIED

    def test_the_engines_database_as_default_is_refused(self, analyst: ClickHouseAddress) -> None:
        answer = _ask(analyst, "SELECT * FROM processes", fields={"database": "system"})

        assert _refusal(answer) == _DENIED

    def test_a_statement_in_a_form_is_bounded_too(
        self, analyst: ClickHouseAddress, secret: Path
    ) -> None:
        headers = {"X-ClickHouse-User": analyst.user, "X-ClickHouse-Key": analyst.password}
        form = {"query": f"SELECT file('{secret}')"}

        answer = urllib3.request("POST", analyst.url, fields=form, headers=headers, timeout=30)

        assert _refusal(answer) == _DENIED

    def test_a_wrong_password_is_refused(self, analyst: ClickHouseAddress) -> None:
        with pytest.raises(DatabaseError) as caught:
            clickhouse_connect.get_client(
                host=analyst.host, port=analyst.port, username=analyst.user, password="guess"
            )

        assert caught.value.code == 516


class TestBounds:
    @pytest.mark.parametrize(
        ("sql", "setting", "code"),
        [
            (_LONG_QUERY, "max_execution_time", "159"),
            (
                "SELECT length(groupArray(number)) FROM numbers(100000000)",
                "max_memory_usage",
                "241",
            ),
        ],
    )
    def test_a_query_cannot_exceed_its_bounds(
        self, analyst: ClickHouseAddress, sql: str, setting: str, code: str
    ) -> None:
        assert _refusal(_ask(analyst, sql, fields={setting: "0"})) == code

    def test_the_service_has_its_turn_during_a_long_query(
        self, analyst: ClickHouseAddress, database: ClickHouseAddress
    ) -> None:
        running = "SELECT count() FROM system.processes WHERE query LIKE '%sipHash64%'"
        asking = threading.Thread(target=_ask, args=(analyst, _LONG_QUERY))
        asking.start()
        wait_until("it runs", lambda: _ask(database, running).data == b"2\n", 20)
        started = time.monotonic()

        second = _ask(analyst, "SELECT 1")
        waited = time.monotonic() - started
        asking.join()

        assert second.data == b"1\n"
        assert waited > 0.3
