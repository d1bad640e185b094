"""ClickHouse's error codes and their HTTP statuses."""

from deploy.clickhouse.errors import ClickHouseError, ErrorCode


def test_engine_error_is_read_after_any_text() -> None:
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
