"""Statements that an analyst can send, as formatted by the engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.reader import as_reader, check_reads
from deploy.clickhouse.request import parse_request

FUNCTIONS = frozenset({"file", "url", "merge", "numbers", "view", "python", "of_tomorrow"})


def _refusal(statement: str) -> int | None:
    try:
        check_reads(statement, FUNCTIONS)
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


def test_a_name_from_outside_is_rejected() -> None:
    for statement in ("SELECT * FROM {x:Identifier}", "SELECT arrayMap({x:Identifier}, ['x'])"):
        assert _refusal(statement) == ErrorCode.ACCESS_DENIED


def test_an_open_quote_is_refused() -> None:
    assert _refusal("SELECT 'file") == ErrorCode.SYNTAX_ERROR


@given(st.text(alphabet="ab'`\"\\{}:.,( \n", max_size=60))
def test_quoted_text_hides_nothing_after_it(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    assert _refusal(f"SELECT '{escaped}', a") is None
    assert _refusal(f"SELECT '{escaped}', file('x')") == ErrorCode.ACCESS_DENIED


_LIMITS = {"max_execution_time": "60", "max_memory_usage": "268435456"}


def _settings(query_string: bytes) -> dict[str, str]:
    request = as_reader(parse_request("POST", query_string, {}))
    assert request.only_reads
    return {name: text for name, text in request.settings.items() if name != "max_threads"}


@pytest.mark.parametrize("wish", ["0", "-1", "", "auto", "nan", "inf", "1e9", "5"])
def test_no_wish_goes_beyond_the_bounds(wish: str) -> None:
    assert _settings(f"max_memory_usage={wish}&max_threads={wish}".encode()) == _LIMITS
    assert _settings(f"max_execution_time={wish}".encode()) == _LIMITS


def test_settings_of_the_answer_are_taken() -> None:
    sent = (
        b"session_timezone=Europe/Rome&format_csv_delimiter=;&output_format_json_quote_decimals=1"
    )

    assert _settings(sent).keys() - _LIMITS.keys() == {
        "session_timezone",
        "format_csv_delimiter",
        "output_format_json_quote_decimals",
    }


@pytest.mark.parametrize(
    "name",
    [
        "format_template_row",
        "output_format_schema",
        "format_schema",
        "dialect",
        "implicit_select",
        "allow_experimental_eval_table_function",
        "max_result_bytes",
        "log_comment",
        "Readonly",
        "limits",
        "max_threads_",
    ],
)
def test_other_settings_are_refused(name: str) -> None:
    with pytest.raises(ClickHouseError) as caught:
        _settings(f"{name}=1".encode())

    assert caught.value.code == ErrorCode.READONLY


@pytest.mark.parametrize("database", ["system", "SYSTEM"])
def test_the_engines_own_database_is_not_the_default(database: str) -> None:
    with pytest.raises(ClickHouseError) as caught:
        _settings(f"database={database}".encode())

    assert caught.value.code == ErrorCode.ACCESS_DENIED
