"""ClickHouse's error codes and their HTTP statuses."""

import pytest

from deploy.clickhouse.errors import ClickHouseError, ErrorCode, http_status


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ErrorCode.SYNTAX_ERROR, 400),
        (72, 400),
        (37, 400),
        (123, 400),
        (60, 404),
        (ErrorCode.UNKNOWN_SETTING, 404),
        (78, 404),
        (ErrorCode.AUTHENTICATION_FAILED, 403),
        (192, 403),
        (159, 408),
        (ErrorCode.QUERY_IS_TOO_LARGE, 413),
        (ErrorCode.NOT_IMPLEMENTED, 501),
        (439, 503),
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
