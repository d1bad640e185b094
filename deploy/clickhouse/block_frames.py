"""ClickHouse's own block compression (``compress=1``, ``decompress=1``): checked frames, both ways.

A frame is a checksum of 16 bytes, then a head of 9 (method, its size with the head, the size of
what it holds), then the compressed bytes.

**Source:** ClickHouse, ``src/Compression/CompressedWriteBuffer.cpp`` and ``CompressionInfo.h``; the
checksum is CityHash128 of CityHash 1.0.2, over head and bytes.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import lz4.block  # type: ignore[import-untyped]
from backports import zstd
from clickhouse_cityhash.cityhash import CityHash128  # type: ignore[import-untyped]

from deploy.clickhouse.errors import ClickHouseError, ErrorCode

_NONE, _LZ4, _ZSTD = 0x02, 0x82, 0x90
_HEAD: Final = struct.Struct("<BII")
_CHECKSUM: Final = struct.Struct("<QQ")
_HEAD_BYTES = _CHECKSUM.size + _HEAD.size
_FRAME_BYTES: Final = 1 << 20
"""Bytes of an answer in a frame, as a server has them."""
_MAX_FRAME_BYTES: Final = 16 << 20
"""Of a frame that comes in, packed or not: as of a statement, as it is unpacked whole."""
_LOW = (1 << 64) - 1


class FrameEncoder:
    """Cuts an answer into frames."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        """``settings`` are those of the query: ``network_compression_method`` names the method."""
        wanted = settings.get("network_compression_method", "LZ4").upper()
        self._method = {"ZSTD": _ZSTD, "NONE": _NONE}.get(wanted, _LZ4)
        self._left = b""

    def feed(self, data: bytes) -> bytes:
        """Return the next whole frames, possibly none yet."""
        data = self._left + data
        whole = len(data) - len(data) % _FRAME_BYTES
        self._left = data[whole:]
        return b"".join(
            self._frame(data[start : start + _FRAME_BYTES])
            for start in range(0, whole, _FRAME_BYTES)
        )

    def finish(self) -> bytes:
        """Return what is left, as the last frame."""
        left, self._left = self._left, b""
        return self._frame(left) if left else b""

    def _frame(self, data: bytes) -> bytes:
        packed = data
        if self._method == _LZ4:
            packed = bytes(lz4.block.compress(data, store_size=False))
        elif self._method == _ZSTD:
            packed = zstd.compress(data, level=1)
        body = _HEAD.pack(self._method, _HEAD.size + len(packed), len(data)) + packed
        return _checksum(body) + body


class FrameDecoder:
    """Undoes a request's frames, piece by piece."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the frames hold that these bytes complete.

        Raises:
            ClickHouseError: a frame that is damaged or too large.
        """
        self._buffer += data
        while (frame := self._next_frame()) is not None:
            yield frame

    def finish(self) -> None:
        """Check that the body did not end inside a frame."""
        if self._buffer:
            raise _damaged("the data breaks off inside a frame")

    def _next_frame(self) -> bytes | None:
        if len(self._buffer) < _HEAD_BYTES:
            return None
        method, packed, size = _HEAD.unpack_from(self._buffer, _CHECKSUM.size)
        if not _HEAD.size <= packed <= _MAX_FRAME_BYTES or size > _MAX_FRAME_BYTES:
            raise _damaged(f"a frame of {packed} bytes that holds {size} is too large")
        end = _CHECKSUM.size + packed
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_CHECKSUM.size : end])
        if _checksum(body) != self._buffer[: _CHECKSUM.size]:
            raise _damaged("the checksum of a frame does not match")
        del self._buffer[:end]
        return _unpacked(method, body[_HEAD.size :], size)


def _unpacked(method: int, packed: bytes, size: int) -> bytes:
    unpack = _UNPACK.get(method)
    if unpack is None:
        raise ClickHouseError.of(
            ErrorCode.UNKNOWN_COMPRESSION_METHOD, f"Unknown codec of a frame: {method:#x}"
        )
    try:
        data = unpack(packed, size)
    except (lz4.block.LZ4BlockError, zstd.ZstdError) as error:
        raise _damaged(str(error)) from error
    if len(data) != size:
        raise _damaged(f"a frame holds {len(data)} bytes instead of {size}")
    return data


def _lz4_unpacked(packed: bytes, size: int) -> bytes:
    return bytes(lz4.block.decompress(packed, uncompressed_size=size))


def _zstd_unpacked(packed: bytes, size: int) -> bytes:
    return zstd.ZstdDecompressor().decompress(packed, max_length=size)


_UNPACK: Final[Mapping[int, Callable[[bytes, int], bytes]]] = {
    _NONE: lambda packed, _: packed,
    _LZ4: _lz4_unpacked,
    _ZSTD: _zstd_unpacked,
}


def _checksum(body: bytes) -> bytes:
    # The library gives one number whose upper half is the first of the two that the wire has.
    found = CityHash128(body)
    return _CHECKSUM.pack(found >> 64, found & _LOW)


def _damaged(what: str) -> ClickHouseError:
    return ClickHouseError.of(ErrorCode.CANNOT_DECOMPRESS, f"Cannot decompress: {what}")
