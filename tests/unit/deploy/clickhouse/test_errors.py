"""ClickHouse's error codes and their HTTP statuses."""

import pytest

from deploy.clickhouse.errors import ClickHouseError, ErrorCode, http_status


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ErrorCode.SYNTAX_ERROR, 400),
        (ErrorCode.CANNOT_PARSE_NUMBER, 400),
        (ErrorCode.UNKNOWN_ELEMENT_IN_AST, 400),
        (ErrorCode.UNKNOWN_TYPE_OF_AST_NODE, 400),
        (ErrorCode.UNKNOWN_TABLE, 404),
        (ErrorCode.UNKNOWN_SETTING, 404),
        (ErrorCode.UNKNOWN_TYPE_OF_QUERY, 404),
        (ErrorCode.REQUIRED_PASSWORD, 401),
        (ErrorCode.AUTHENTICATION_FAILED, 403),
        (ErrorCode.UNKNOWN_USER, 403),
        (ErrorCode.TIMEOUT_EXCEEDED, 408),
        (ErrorCode.QUERY_IS_TOO_LARGE, 413),
        (ErrorCode.NOT_IMPLEMENTED, 501),
        (ErrorCode.CANNOT_SCHEDULE_TASK, 503),
        (ErrorCode.UNKNOWN_EXCEPTION, 500),
        (ErrorCode.TOO_MANY_SIMULTANEOUS_QUERIES, 500),
        (241, 500),
        (99_999, 500),
    ],
)
def test_status_of_a_code(code: int, status: int) -> None:
    assert http_status(code) == status


def test_engine_error_is_read_whatever_stands_before_it() -> None:
    error = ClickHouseError.from_engine(
        "Streaming query failed: Code: 60. DB::Exception: No table. (UNKNOWN_TABLE)"
    )

    assert error.code == 60
    assert error.text == "Code: 60. DB::Exception: No table. (UNKNOWN_TABLE)"


def test_engine_error_without_a_code() -> None:
    error = ClickHouseError.from_engine("something odd")

    assert error.code == ErrorCode.UNKNOWN_EXCEPTION
    assert error.text == "Code: 1002. DB::Exception: something odd. (UNKNOWN_EXCEPTION)"


def test_own_error_has_clickhouses_form() -> None:
    error = ClickHouseError.of(ErrorCode.NOT_IMPLEMENTED, "No such thing")

    assert error.text == "Code: 48. DB::Exception: No such thing. (NOT_IMPLEMENTED)"
