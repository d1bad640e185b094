"""Common drivers connect as an analyst with default settings, and run the saved queries."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlencode

import clickhouse_connect
import pytest
import urllib3

from analytics_sql.analysts.saved_queries import saved_parameters, saved_queries
from analytics_sql.migrate import migrate
from tests.integration.analytics_sql.drivers import programs
from tests.integration.analytics_sql.drivers.programs import Question
from tests.integration.analytics_sql.saved_rows import ANSWERS, PARAMETERS, write_saved_rows
from tests.services.clickhouse import ClickHouseAddress, create_database, start_clickhouse

pytestmark = pytest.mark.integration

QUESTIONS = [
    Question(sql, {name: PARAMETERS[name] for name in saved_parameters(sql)})
    for sql in saved_queries().values()
]
JDBC = ("0.7.2", "0.8.6", "0.9.0", "0.9.8")
# More rows than fit in a block of the engine, an HTTP frame, or a fully buffered response.
_LONG = Question(
    "SELECT toString(number) AS n, number, repeat('x', 10), [n], map('a', n),"
    " toLowCardinality(toString(number % 3)), if(number % 2 = 0, NULL, n), (n, number)"
    " FROM numbers(300000)",
    {},
)


@pytest.fixture(scope="module")
def analyst(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseAddress]:
    """The analyst's address of a database that contains the rows with known results."""
    service = start_clickhouse(tmp_path_factory.mktemp("clickhouse"))
    database = create_database(service.address)
    client = database.client()
    migrate(client, retention_days=36_500)
    write_saved_rows(client)
    client.close()
    reader = service.analyst
    yield ClickHouseAddress(
        reader.host, reader.port, reader.user, reader.password, database.database
    )
    service.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drivers")


def _expected(names: Sequence[str] | None = None) -> list[list[str]]:
    return [[str(row[0]) for row in ANSWERS[name]] for name in names or saved_queries()]


@pytest.mark.long
def test_npm_client(analyst: ClickHouseAddress, folder: Path) -> None:
    program = programs.ready("javascript", folder)

    *found, long = programs.node_first_columns(program, analyst, [*QUESTIONS, _LONG])

    assert found == _expected()
    assert len(long) == 300_000


@pytest.mark.long
@pytest.mark.parametrize(
    "version",
    [*(pytest.param(each, marks=pytest.mark.long) for each in JDBC[:-1]), JDBC[-1]],
)
def test_jdbc(analyst: ClickHouseAddress, folder: Path, version: str) -> None:
    program = programs.ready("java", folder)
    jars = programs.jdbc_jars(program, version)

    *found, long = programs.jdbc_first_columns(program, jars, analyst, [*QUESTIONS, _LONG])

    assert found == _expected()
    assert len(long) == 300_000


@pytest.mark.parametrize(
    ("answer_format", "magic"),
    [("Parquet", b"PAR1"), ("Arrow", b"ARROW1"), ("ArrowStream", b"\xff\xff\xff\xff")],
)
def test_columnar_formats_over_http(
    analyst: ClickHouseAddress, answer_format: str, magic: bytes
) -> None:
    for question in QUESTIONS:
        given = {f"param_{name}": value for name, value in question.parameters.items()}
        query = urlencode({"database": analyst.database, **given})
        answer = urllib3.request(
            "POST",
            f"{analyst.url}/?{query}",
            body=f"{question.sql} FORMAT {answer_format}",
            headers={"X-ClickHouse-User": analyst.user, "X-ClickHouse-Key": analyst.password},
            timeout=60,
        )
        assert answer.status == 200, answer.data
        assert answer.data.startswith(magic)


def test_clickhouse_connect(analyst: ClickHouseAddress) -> None:
    client = clickhouse_connect.get_client(
        host=analyst.host,
        port=analyst.port,
        username=analyst.user,
        password=analyst.password,
        database=analyst.database,
    )

    found = [
        [
            str(row[0])
            for row in client.query(each.sql, parameters=dict(each.parameters)).result_rows
        ]
        for each in QUESTIONS
    ]

    client.close()
    assert found == _expected()
