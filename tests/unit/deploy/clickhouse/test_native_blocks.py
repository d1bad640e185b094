"""Blocks of the format Native for clients of a protocol version."""

import struct

import pytest

from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.native_blocks import for_protocol_version

_INFO = b"\x01\x00\x02\xff\xff\xff\xff\x00"
_LATER_INFO = b"\x01\x00\x02\xff\xff\xff\xff\x03\x00\x00"


def _text(text: str) -> bytes:
    data = text.encode()
    size = len(data)
    head = bytes([size]) if size < 128 else bytes([size & 0x7F | 0x80, size >> 7])
    return head + data


def _u64(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *numbers)


# Types, and two values of each as the engine writes them for version 0.
_COLUMNS = {
    "UInt8": b"ab",
    "FixedString(3)": b"abcdef",
    "Enum8('a(,' = 1, 'it''s' = 2)": b"\x01\x02",
    "Decimal(20, 3)": b"d" * 32,
    "DateTime64(3, 'UTC')": b"t" * 16,
    "String": _text("short") + _text("x" * 300),
    "Nullable(String)": b"\x00\x01" + _text("a") + _text(""),
    "Array(UInt16)": _u64(1, 3) + b"aabbcc",
    "Array(Array(String))": _u64(1, 2) + _u64(2, 2) + _text("a") + _text("b"),
    "Map(String, UInt8)": _u64(1, 2) + _text("a") + _text("b") + b"12",
    "Tuple(a UInt8, `b, c` String)": b"12" + _text("x") + _text("y"),
    "Nested(a UInt8, b String)": _u64(1, 1) + b"1" + _text("x"),
    "SimpleAggregateFunction(max, UInt32)": b"12345678",
    "Point": b"p" * 32,
    "LowCardinality(Nullable(String))": _u64(1)
    + _u64(1 << 9 | 1 << 10, 2)
    + _text("")
    + _text("a")
    + _u64(2)
    + b"\x00\x01",
    "Array(LowCardinality(String))": _u64(1)
    + _u64(2, 3)
    + _u64(1 << 9 | 1, 1)
    + _text("a")
    + _u64(3)
    + b"\x00\x00" * 3,
    # Nothing follows where all of them are empty.
    "Array(LowCardinality(UInt8))": _u64(1) + _u64(0, 0),
}


def _block(columns: dict[str, bytes], rows: int) -> bytes:
    body = b"".join(
        _text("name") + _text(name) + (data if rows else b"") for name, data in columns.items()
    )
    return bytes([len(columns), rows]) + body


def _expected(columns: dict[str, bytes], rows: int, info: bytes, mark: bytes) -> bytes:
    body = b"".join(
        _text("name") + _text(name) + mark + (data if rows else b"")
        for name, data in columns.items()
    )
    return info + bytes([len(columns), rows]) + body


@pytest.mark.parametrize(
    ("version", "info", "mark"),
    [(54_448, _INFO, b""), (54_460, _INFO, b"\0"), (54_515, _LATER_INFO, b"\0")],
)
def test_blocks_are_as_a_version_reads_them(version: int, info: bytes, mark: bytes) -> None:
    blocks = _block(_COLUMNS, 2) + _block(_COLUMNS, 0)

    found = for_protocol_version(blocks, version)

    assert found == _expected(_COLUMNS, 2, info, mark) + _expected(_COLUMNS, 0, info, mark)


@pytest.mark.parametrize("name", _COLUMNS)
def test_each_type_is_walked_through(name: str) -> None:
    columns = {name: _COLUMNS[name], "UInt8": b"zz"}

    assert for_protocol_version(_block(columns, 2), 54_460) == _expected(columns, 2, _INFO, b"\0")


def test_without_a_version_nothing_changes() -> None:
    assert for_protocol_version(b"whatever", 0) == b"whatever"


@pytest.mark.parametrize("name", ["JSON", "Dynamic", "Variant(String, UInt8)", "Array(JSON)"])
def test_a_type_of_unknown_length_is_refused(name: str) -> None:
    with pytest.raises(ClickHouseError) as caught:
        for_protocol_version(_block({name: b""}, 2), 54_460)

    assert caught.value.code == ErrorCode.NOT_IMPLEMENTED
