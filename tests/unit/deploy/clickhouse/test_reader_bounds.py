"""What a request of the user who may only read may ask for."""

import pytest

from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.reader_bounds import ReaderBounds
from deploy.clickhouse.request import parse_request

BOUNDS = ReaderBounds(query_seconds=60, memory_bytes=1000, threads=1)
_ALONE = {"max_execution_time": "60", "max_memory_usage": "1000", "max_threads": "1"}


def _settings(query_string: bytes) -> dict[str, str]:
    request = BOUNDS.applied_to(parse_request("POST", query_string, {}))
    assert request.only_reads
    return dict(request.settings)


def test_bounds_are_there_unasked() -> None:
    assert _settings(b"query=SELECT+1") == _ALONE


def test_readonly_is_not_the_clients() -> None:
    assert _settings(b"readonly=0") == _ALONE


@pytest.mark.parametrize(
    ("wish", "granted"), [("5", "5"), ("0.5", "0.5"), ("60", "60"), ("61", "60")]
)
def test_a_lower_bound_is_kept(wish: str, granted: str) -> None:
    assert _settings(f"max_execution_time={wish}".encode())["max_execution_time"] == granted


@pytest.mark.parametrize("wish", ["0", "-1", "", "auto", "nan", "inf", "1e9"])
def test_no_wish_goes_beyond_the_bounds(wish: str) -> None:
    assert _settings(f"max_memory_usage={wish}&max_threads={wish}".encode()) == _ALONE


def test_settings_of_the_answer_are_taken() -> None:
    sent = (
        b"session_timezone=Europe/Rome&format_csv_delimiter=;&output_format_json_quote_decimals=1"
    )

    assert _settings(sent).keys() - _ALONE.keys() == {
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
