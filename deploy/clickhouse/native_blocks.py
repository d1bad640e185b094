"""Blocks of the format Native as a client of a protocol version expects them.

The engine writes them as for version 0. From version 1 on a block begins with what is known of it,
and from 54454 on each column says whether it is written in a way of its own. To put that in,
blocks are walked through: their columns have no lengths.

**Source:** ClickHouse, ``src/Formats/NativeWriter.cpp``, ``src/Core/BlockInfo.h``,
``src/Core/ProtocolDefines.h``, ``src/DataTypes/Serializations/``.
"""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from deploy.clickhouse.errors import ClickHouseError, ErrorCode

_WITH_CUSTOM_SERIALIZATION = 54454
_WITH_OUT_OF_ORDER_BUCKETS = 54480

_FIXED_BYTES: Final = {
    **dict.fromkeys(("Int8", "UInt8", "Bool", "Enum8", "Nothing"), 1),
    **dict.fromkeys(("Int16", "UInt16", "Enum16", "Date", "BFloat16"), 2),
    **dict.fromkeys(("Int32", "UInt32", "Float32", "Date32", "DateTime", "IPv4", "Time"), 4),
    **dict.fromkeys(("Int64", "UInt64", "Float64", "DateTime64", "Time64"), 8),
    **dict.fromkeys(("Int128", "UInt128", "UUID", "IPv6"), 16),
    **dict.fromkeys(("Int256", "UInt256"), 32),
}
_ALIASES: Final = {
    "Point": "Tuple(Float64, Float64)",
    "Ring": "Array(Point)",
    "LineString": "Array(Point)",
    "MultiLineString": "Array(LineString)",
    "Polygon": "Array(Ring)",
    "MultiPolygon": "Array(Polygon)",
}
# Digits up to which a decimal fits into so many bytes.
_DECIMAL_BYTES: Final = ((9, 4), (18, 8), (38, 16), (76, 32))
_NAMED_TYPE = re.compile(r"(?:`(?:[^`\\]|\\.|``)*`|[A-Za-z_]\w*)\s+(.+)", re.DOTALL)
_PART = re.compile(r"'(?:[^'\\]|\\.|'')*'|`(?:[^`\\]|\\.|``)*`|[(),]|[^'`(),]+", re.DOTALL)
_UINT64: Final = struct.Struct("<Q")
_HAS_ADDITIONAL_KEYS = 1 << 9


def for_protocol_version(blocks: bytes, version: int) -> bytes:
    """Return whole blocks, written for version 0, as a client of ``version`` reads them.

    Raises:
        ClickHouseError: a column of a type that is not known here (JSON, Dynamic, Variant, states
            of aggregates).
    """
    if not version or not blocks:
        return blocks
    walk = _Walk(blocks)
    parts: list[bytes] = []
    while walk.position < len(blocks):
        parts += _block(walk, version)
    return b"".join(parts)


def _block(walk: "_Walk", version: int) -> list[bytes]:
    start = walk.position
    columns, rows = walk.number(), walk.number()
    parts = [_block_info(version), walk.since(start)]
    for _ in range(columns):
        start = walk.position
        walk.text()
        type_name = walk.text()
        parts.append(walk.since(start))
        if version >= _WITH_CUSTOM_SERIALIZATION:
            parts.append(b"\0")
        start = walk.position
        if rows:
            column = _parsed(type_name)
            walk.prefix(column)
            walk.values(column, rows)
        parts.append(walk.since(start))
    return parts


def _block_info(version: int) -> bytes:
    later = b"\x03\x00" if version >= _WITH_OUT_OF_ORDER_BUCKETS else b""
    return b"\x01\x00" + b"\x02" + struct.pack("<i", -1) + later + b"\x00"


@dataclass(frozen=True)
class _Type:
    name: str
    parts: tuple["_Type", ...] = ()
    width: int = 0
    """Bytes of a value, where all have as many."""


def _parsed(text: str) -> _Type:
    text = text.strip()
    name, bracket, inside = text.partition("(")
    arguments = _arguments(inside.rstrip()[:-1]) if bracket else []
    if name in _ALIASES:
        return _parsed(_ALIASES[name])
    if name in _FIXED_BYTES:
        return _Type(name, width=_FIXED_BYTES[name])
    if name.startswith("Interval"):
        return _Type(name, width=8)
    if name == "FixedString":
        return _Type(name, width=int(arguments[0]))
    if name == "Decimal":
        digits = int(arguments[0])
        return _Type(name, width=next(size for most, size in _DECIMAL_BYTES if digits <= most))
    if name == "SimpleAggregateFunction":
        return _parsed(arguments[1])
    if name == "Nested":
        return _Type("Array", (_Type("Tuple", tuple(map(_element, arguments))),))
    if name == "Map":
        return _Type("Array", (_Type("Tuple", tuple(map(_parsed, arguments))),))
    if name == "Tuple":
        return _Type(name, tuple(map(_element, arguments)))
    if name in ("Array", "Nullable", "LowCardinality"):
        return _Type(name, (_parsed(arguments[0]),))
    if name == "String":
        return _Type(name)
    raise ClickHouseError.of(
        ErrorCode.NOT_IMPLEMENTED,
        f"A column of type {text} cannot be sent in the format Native: choose another one,"
        " or convert it to a String",
    )


def _element(text: str) -> _Type:
    """Return the type of a tuple's element, which may have a name before it."""
    named = _NAMED_TYPE.fullmatch(text.strip())
    return _parsed(named.group(1) if named else text)


def _arguments(text: str) -> list[str]:
    found, depth = [""], 0
    for part in _PART.findall(text):
        depth += (part == "(") - (part == ")")
        if part == "," and depth == 0:
            found.append("")
        else:
            found[-1] += part
    return found


class _Walk:
    """A position in blocks, which goes on by what is read."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0
        self._ways: dict[str, Callable[[_Type, int], None]] = {
            "String": self._strings,
            "Array": self._arrays,
            "Tuple": self._tuples,
            "Nullable": self._nullables,
            "LowCardinality": self._low_cardinalities,
        }

    def since(self, start: int) -> bytes:
        return self._data[start : self.position]

    def number(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self._data[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def text(self) -> str:
        size = self.number()
        self.position += size
        return self.since(self.position - size).decode()

    def prefix(self, column: _Type) -> None:
        """Pass what stands before the values of a column and of all its parts."""
        if column.name == "LowCardinality":
            self.position += _UINT64.size
            return
        for part in column.parts:
            self.prefix(part)

    def values(self, column: _Type, rows: int) -> None:
        if column.width:
            self.position += column.width * rows
        elif rows:
            self._ways[column.name](column, rows)

    def _strings(self, column: _Type, rows: int) -> None:
        data, position = self._data, self.position
        for _ in range(rows):
            size = data[position]
            position += 1
            if size > 0x7F:
                self.position = position - 1
                size = self.number()
                position = self.position
            position += size
        self.position = position

    def _arrays(self, column: _Type, rows: int) -> None:
        self.position += _UINT64.size * rows
        (total,) = _UINT64.unpack_from(self._data, self.position - _UINT64.size)
        self.values(column.parts[0], total)

    def _tuples(self, column: _Type, rows: int) -> None:
        for part in column.parts:
            self.values(part, rows)
        if not column.parts:
            self.position += rows

    def _nullables(self, column: _Type, rows: int) -> None:
        self.position += rows
        self.values(column.parts[0], rows)

    def _low_cardinalities(self, column: _Type, rows: int) -> None:
        keys = column.parts[0]
        keys = keys.parts[0] if keys.name == "Nullable" else keys
        while rows > 0:
            flags = self._uint64()
            if flags & _HAS_ADDITIONAL_KEYS:
                self.values(keys, self._uint64())
            here = self._uint64()
            self.position += here << (flags & 0xFF)
            rows -= here

    def _uint64(self) -> int:
        (value,) = _UINT64.unpack_from(self._data, self.position)
        self.position += _UINT64.size
        return int(value)
