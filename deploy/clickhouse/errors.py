"""Errors with ClickHouse's codes, and the HTTP status each one has."""

import re
from enum import IntEnum
from http import HTTPStatus

from common.errors import PlatestreamError

_CODE = re.compile(r"Code: (\d+)\. ")


class ErrorCode(IntEnum):
    """ClickHouse's codes that this server raises itself or answers with a status of their own.

    **Source:** ClickHouse, ``src/Common/ErrorCodes.cpp``.
    """

    CANNOT_PARSE_TEXT = 6
    THERE_IS_NO_COLUMN = 8
    DUPLICATE_COLUMN = 15
    CANNOT_PARSE_ESCAPE_SEQUENCE = 25
    CANNOT_PARSE_QUOTED_STRING = 26
    CANNOT_PARSE_INPUT_ASSERTION_FAILED = 27
    BAD_ARGUMENTS = 36
    UNKNOWN_ELEMENT_IN_AST = 37
    CANNOT_PARSE_DATE = 38
    CANNOT_PARSE_DATETIME = 41
    ILLEGAL_COLUMN = 44
    UNKNOWN_FUNCTION = 46
    UNKNOWN_IDENTIFIER = 47
    NOT_IMPLEMENTED = 48
    UNKNOWN_TYPE = 50
    TYPE_MISMATCH = 53
    UNKNOWN_STORAGE = 56
    UNKNOWN_TABLE = 60
    SYNTAX_ERROR = 62
    UNKNOWN_AGGREGATE_FUNCTION = 63
    CANNOT_PARSE_NUMBER = 72
    UNKNOWN_FORMAT = 73
    CANNOT_OPEN_FILE = 76
    UNKNOWN_TYPE_OF_QUERY = 78
    UNKNOWN_DATABASE = 81
    UNKNOWN_COMPRESSION_METHOD = 89
    UNKNOWN_SETTING = 115
    INCORRECT_DATA = 117
    UNKNOWN_TYPE_OF_AST_NODE = 123
    UNKNOWN_DIRECTION_OF_SORTING = 152
    TIMEOUT_EXCEEDED = 159
    READONLY = 164
    TOO_DEEP_AST = 167
    TOO_BIG_AST = 168
    UNKNOWN_USER = 192
    WRONG_PASSWORD = 193
    REQUIRED_PASSWORD = 194
    QUOTA_EXCEEDED = 201
    TOO_MANY_SIMULTANEOUS_QUERIES = 202
    SOCKET_TIMEOUT = 209
    UNEXPECTED_AST_STRUCTURE = 223
    QUERY_IS_TOO_LARGE = 229
    NOT_ENOUGH_SPACE = 243
    CANNOT_DECOMPRESS = 271
    VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE = 321
    UNKNOWN_DATABASE_ENGINE = 336
    CANNOT_PARSE_UUID = 376
    TOO_MANY_ROWS_OR_BYTES = 396
    CANNOT_COMPILE_REGEXP = 427
    CANNOT_SCHEDULE_TASK = 439
    CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING = 441
    ACCESS_DENIED = 497
    UNKNOWN_ROLE = 511
    SET_NON_GRANTED_ROLE = 512
    AUTHENTICATION_FAILED = 516
    CANNOT_PARSE_IPV4 = 675
    CANNOT_PARSE_IPV6 = 676
    UNKNOWN_EXCEPTION = 1002


_FORBIDDEN = {
    ErrorCode.UNKNOWN_USER,
    ErrorCode.WRONG_PASSWORD,
    ErrorCode.ACCESS_DENIED,
    ErrorCode.SET_NON_GRANTED_ROLE,
    ErrorCode.AUTHENTICATION_FAILED,
}
_UNAVAILABLE = {
    ErrorCode.CANNOT_OPEN_FILE,
    ErrorCode.SOCKET_TIMEOUT,
    ErrorCode.CANNOT_SCHEDULE_TASK,
}
_SERVER_ERROR = {
    ErrorCode.READONLY,
    ErrorCode.UNKNOWN_COMPRESSION_METHOD,
    ErrorCode.QUOTA_EXCEEDED,
    ErrorCode.TOO_MANY_SIMULTANEOUS_QUERIES,
    ErrorCode.CANNOT_DECOMPRESS,
    ErrorCode.TOO_MANY_ROWS_OR_BYTES,
    ErrorCode.UNKNOWN_EXCEPTION,
}


def http_status(code: int) -> HTTPStatus:
    """Return the HTTP status that a ClickHouse server answers with for an error code.

    **Source:** ClickHouse, ``src/Server/HTTP/exceptionCodeToHTTPStatus.cpp``.
    """
    try:
        known = ErrorCode(code)
    except ValueError:
        return HTTPStatus.INTERNAL_SERVER_ERROR
    return _known_status(known)


def _known_status(code: ErrorCode) -> HTTPStatus:
    if code in _SERVER_ERROR:
        return HTTPStatus.INTERNAL_SERVER_ERROR
    if code in _FORBIDDEN:
        return HTTPStatus.FORBIDDEN
    if code in _UNAVAILABLE:
        return HTTPStatus.SERVICE_UNAVAILABLE
    match code:
        case ErrorCode.REQUIRED_PASSWORD:
            return HTTPStatus.UNAUTHORIZED
        case ErrorCode.QUERY_IS_TOO_LARGE:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        case ErrorCode.NOT_IMPLEMENTED:
            return HTTPStatus.NOT_IMPLEMENTED
        case ErrorCode.TIMEOUT_EXCEEDED:
            return HTTPStatus.REQUEST_TIMEOUT
    if code.name.startswith("UNKNOWN_") and "AST" not in code.name:
        return HTTPStatus.NOT_FOUND
    return HTTPStatus.BAD_REQUEST


class ClickHouseError(PlatestreamError):
    """A failure as ClickHouse reports it: a numeric code and ``Code: N. DB::Exception: ...``."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text

    @classmethod
    def of(cls, code: ErrorCode, message: str) -> "ClickHouseError":
        """Make an error of the server's own in ClickHouse's form."""
        return cls(code, f"Code: {code.value}. DB::Exception: {message}. ({code.name})")

    @classmethod
    def from_engine(cls, message: str) -> "ClickHouseError":
        """Read code and text out of what the engine raised, whatever stands before them."""
        found = _CODE.search(message)
        if found is None:
            return cls.of(ErrorCode.UNKNOWN_EXCEPTION, message)
        return cls(int(found.group(1)), message[found.start() :].strip())
