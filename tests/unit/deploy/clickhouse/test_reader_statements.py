"""Which statements the user who may only read may run; texts are as the engine writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.reader_statements import check_reads

FUNCTIONS = frozenset({"file", "url", "merge", "numbers", "view", "python", "of_tomorrow"})


def _refusal(statement: str, **parameters: str) -> int | None:
    try:
        check_reads(statement, parameters, FUNCTIONS)
    except ClickHouseError as error:
        return error.code
    return None


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "(SELECT 1) UNION ALL (SELECT 2)",
        "WITH 1 AS a SELECT a",
        "SELECT 'file(''x'')', 'INTO OUTFILE', 'it\\'s file(' FROM t",
        "SELECT filename, profile, filed, _file FROM t",
        "SELECT url, merge, python FROM t",
        "SELECT * FROM numbers(3)",
        "SELECT * FROM view(SELECT 1)",
        "SELECT name FROM system.tables",
        "SELECT system FROM t",
        "SHOW TABLES",
        "SHOW CREATE TABLE t",
        "SHOW FULL COLUMNS FROM t",
        "DESCRIBE TABLE analysis_recognitions",
        "EXPLAIN indexes = 1 SELECT 1",
        "EXISTS TABLE t",
        "SELECT {a:String}, {b:Enum8('}' = 1)}",
    ],
)
def test_reading_passes(statement: str) -> None:
    assert _refusal(statement) is None


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t FORMAT Values",
        "CREATE TABLE t (a UInt8) ENGINE = Memory",
        "KILL QUERY WHERE 1 ASYNC",
        "SET readonly = 0",
        "USE system",
        "SYSTEM FLUSH LOGS",
        "BACKUP DATABASE default TO File('x')",
        "GRANT SELECT ON *.* TO x",
        "",
    ],
)
def test_what_is_no_reading_is_refused_as_clickhouse_does(statement: str) -> None:
    assert _refusal(statement) == ErrorCode.READONLY


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT file('/etc/passwd')",
        "SELECT `file`('/etc/passwd')",
        "SELECT `a\\`b`, 'it\\'s', file('/etc/passwd')",
        "SELECT 'a\\\\', file('/etc/passwd')",
        "SELECT '''', file('/etc/passwd')",
        "SELECT {b:Enum8('}' = 1)}, file('/etc/passwd'), '}'",
        "SELECT arrayMap(file, ['x'])",
        "SELECT * APPLY file FROM t",
        "WITH file AS f SELECT f('x')",
        "EXPLAIN SELECT file('x')",
        "SELECT 1 INTO OUTFILE 'x' TRUNCATE",
        "SHOW TABLES INTO OUTFILE 'x'",
        "SELECT aiGenerate('x')",
        "DESCRIBE TABLE url('http://127.0.0.1/')",
        "SELECT * FROM merge('system', 'processes')",
        "SELECT * FROM Python(os)",
        "SELECT 1 IN of_tomorrow('x')",
        "SELECT * FROM system.processes",
        "SELECT * FROM `system`.processes",
        "SELECT * FROM System.`processes`",
        "SHOW PROCESSLIST",
        "SHOW GRANTS",
        "SHOW TABLES PARALLEL WITH SHOW TABLES",
    ],
)
def test_ways_out_are_refused(statement: str) -> None:
    assert _refusal(statement) == ErrorCode.ACCESS_DENIED


@pytest.mark.parametrize("name", ["t", "analysis_recognitions", "database.table", "system.one"])
def test_a_name_may_come_from_outside(name: str) -> None:
    assert _refusal("SELECT * FROM {x:Identifier}", x=name) is None


@pytest.mark.parametrize("name", ["file", "FILE", "fi\\x6ce", "a b", "", "system.processes"])
def test_a_name_from_outside_is_looked_at(name: str) -> None:
    statement = "SELECT arrayMap({x:Identifier}, ['x']) FROM t"
    assert _refusal(statement, x=name) == ErrorCode.ACCESS_DENIED


def test_a_name_from_outside_is_looked_at_in_its_place() -> None:
    statement = "SELECT * FROM {d:Identifier}.{t:Identifier}"
    assert _refusal(statement, d="system", t="processes") == ErrorCode.ACCESS_DENIED
    assert _refusal(statement, d="system", t="one") is None
    assert _refusal(statement, d="platestream") == ErrorCode.ACCESS_DENIED


def test_an_open_quote_is_refused() -> None:
    assert _refusal("SELECT 'file") == ErrorCode.SYNTAX_ERROR


@given(st.text(alphabet="ab'`\"\\{}:.,( \n", max_size=60))
def test_whatever_stands_in_quotes_hides_nothing_behind_it(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    assert _refusal(f"SELECT '{escaped}', a") is None
    assert _refusal(f"SELECT '{escaped}', file('x')") == ErrorCode.ACCESS_DENIED
