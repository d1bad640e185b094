"""Defines errors with ClickHouse's codes, and maps the codes to HTTP statuses."""

import re
from enum import IntEnum
from http import HTTPStatus

from common.errors import PlatestreamError

_CODE = re.compile(r"Code: (\d+)\. ")


class ErrorCode(IntEnum):
    """Error codes that this server raises (``src/Common/ErrorCodes.cpp``)."""

    BAD_ARGUMENTS = 36
    NOT_IMPLEMENTED = 48
    SYNTAX_ERROR = 62
    UNKNOWN_COMPRESSION_METHOD = 89
    UNKNOWN_SETTING = 115
    READONLY = 164
    TOO_MANY_SIMULTANEOUS_QUERIES = 202
    QUERY_IS_TOO_LARGE = 229
    NOT_ENOUGH_SPACE = 243
    CANNOT_DECOMPRESS = 271
    ACCESS_DENIED = 497
    AUTHENTICATION_FAILED = 516
    UNKNOWN_EXCEPTION = 1002


_CODES = {
    HTTPStatus.BAD_REQUEST: (
        *(6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 44, 53, 62, 72, 117, 123, 152, 167, 168, 223),
        *(321, 376, 427, 441, 675, 676),
    ),
    HTTPStatus.FORBIDDEN: (192, 193, 497, 512, 516),
    HTTPStatus.NOT_FOUND: (46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 336, 511),
    HTTPStatus.REQUEST_TIMEOUT: (159,),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (229,),
    HTTPStatus.NOT_IMPLEMENTED: (48,),
    HTTPStatus.SERVICE_UNAVAILABLE: (76, 209, 439),
}
_STATUS = {code: status for status, codes in _CODES.items() for code in codes}


def http_status(code: int) -> HTTPStatus:
    """Return the HTTP status that a ClickHouse server returns for an error code.

    **Source:** ClickHouse, ``src/Server/HTTP/exceptionCodeToHTTPStatus.cpp``.
    """
    return _STATUS.get(code, HTTPStatus.INTERNAL_SERVER_ERROR)


class ClickHouseError(PlatestreamError):
    """An error in ClickHouse's format: a numeric code and ``Code: N. DB::Exception: ...``."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text

    @classmethod
    def of(cls, code: ErrorCode, message: str) -> "ClickHouseError":
        """Create an error with a message in ClickHouse's format."""
        return cls(code, f"Code: {code.value}. DB::Exception: {message}. ({code.name})")

    @classmethod
    def from_engine(cls, message: str) -> "ClickHouseError":
        """Create an error from a message of the engine, without any text before the code."""
        found = _CODE.search(message)
        if found is None:
            return cls.of(ErrorCode.UNKNOWN_EXCEPTION, message)
        return cls(int(found.group(1)), message[found.start() :].strip())
