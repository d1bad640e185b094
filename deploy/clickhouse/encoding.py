"""Receives and decodes request bodies in bounded chunks, and encodes the frames of responses."""

import gzip
import shutil
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import IO, Any, Final

import lz4.block  # type: ignore[import-untyped]
import lz4.frame  # type: ignore[import-untyped]
from backports import zstd
from clickhouse_cityhash.cityhash import CityHash128  # type: ignore[import-untyped]

from deploy.clickhouse.engine import KEEP_FREE_BYTES
from deploy.clickhouse.errors import ClickHouseError, ErrorCode

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Body = IO[bytes] | gzip.GzipFile | zstd.ZstdFile

_PIECE_BYTES: Final = 1 << 20
# The largest window allowed in HTTP: 8 MiB (RFC 9659, section 3). A frame can request 2 GiB.
_WINDOW: Final[dict[int, int]] = {zstd.DecompressionParameter.window_log_max: 23}
_DAMAGED: Final = (OSError, EOFError, RuntimeError, zlib.error, zstd.ZstdError)
_LZ4_FRAME: Final = 0x82


class ClientDisconnectedError(Exception):
    """The client disconnected before its request was complete."""


@asynccontextmanager
async def received(receive: Receive, folder: Path, limit_bytes: float) -> AsyncIterator[IO[bytes]]:
    """Yield a request's body as a file, not yet decoded. A short body stays in memory.

    Raises:
        ClientDisconnectedError: the client disconnected.
        ClickHouseError: the body is longer than ``limit_bytes``, or the disk is full.
    """
    with SpooledTemporaryFile(_PIECE_BYTES, dir=str(folder)) as file:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnectedError
            _write(file, folder, message.get("body", b""))
            check_size(file.tell(), limit_bytes)
            more = message.get("more_body", False)
        file.seek(0)
        yield file


def decoded(body: IO[bytes], content_encoding: str) -> Body:
    """Return a body as a file that :func:`read` decodes according to ``content_encoding``.

    A body can contain several consecutive frames: clickhouse-connect sends one for each block.

    Raises:
        ClickHouseError: the encoding is unknown.
    """
    is_empty = body.seek(0, 2) == body.seek(0)
    match "" if is_empty else content_encoding:
        case "" | "identity":
            return body
        case "lz4":
            return lz4.frame.open(body)  # type: ignore[no-any-return]
        case "zstd":
            return zstd.open(body, options=_WINDOW)
        case "gzip":
            return gzip.open(body)
    raise ClickHouseError.of(
        ErrorCode.UNKNOWN_COMPRESSION_METHOD, f"Unknown compression method: {content_encoding}"
    )


def read(body: Body, size: int = _PIECE_BYTES) -> bytes:
    """Decode and return the next ``size`` bytes, or fewer at the end.

    Raises:
        ClickHouseError: the encoded data is damaged or incomplete.
    """
    try:
        return body.read(size)
    except _DAMAGED as error:
        message = f"Cannot decompress: {error}"
        raise ClickHouseError.of(ErrorCode.CANNOT_DECOMPRESS, message) from error


@contextmanager
def copied(start: bytes, body: Body, folder: Path) -> Iterator[IO[bytes]]:
    """Yield an unnamed file that contains ``start`` and the rest of a decoded body.

    Raises:
        ClickHouseError: the body is damaged, or the disk is full.
    """
    with TemporaryFile(dir=folder) as file:
        piece = start or read(body)
        while piece:
            _write(file, folder, piece)
            piece = read(body)
        file.flush()
        yield file


def _write(file: IO[bytes], folder: Path, data: bytes) -> None:
    if file.tell() > _PIECE_BYTES and shutil.disk_usage(folder).free < KEEP_FREE_BYTES:
        raise ClickHouseError.of(ErrorCode.NOT_ENOUGH_SPACE, "The disk is full")
    file.write(data)


def check_size(size: float, limit_bytes: float) -> None:
    """Raise ClickHouseError if a statement is longer than the limit."""
    if size > limit_bytes:
        raise ClickHouseError.of(ErrorCode.QUERY_IS_TOO_LARGE, "The statement is too long")


def framed(data: bytes) -> bytes:
    """Return data in ClickHouse's block compression format, which JDBC clients request.

    **Source:** ClickHouse, ``src/Compression/CompressedWriteBuffer.cpp``. A frame is a CityHash
    1.0.2 checksum, followed by the data that it covers: a 9-byte header (method, compressed size
    including this header, uncompressed size) and the compressed bytes.
    """
    frames = b""
    for start in range(0, len(data), _PIECE_BYTES):
        plain = data[start : start + _PIECE_BYTES]
        packed = bytes(lz4.block.compress(plain, store_size=False))
        body = struct.pack("<BII", _LZ4_FRAME, 9 + len(packed), len(plain)) + packed
        # The upper half of the library's result comes first on the wire.
        frames += struct.pack("<QQ", *divmod(CityHash128(body), 1 << 64)) + body
    return frames
