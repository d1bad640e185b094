"""HTTP content codings that clickhouse-connect uses, both ways, as streams.

A body may be several compressed frames one after the other: the client makes one per block.
"""

import zlib
from typing import Protocol

import lz4.frame  # type: ignore[import-untyped]
from backports import zstd

from deploy.clickhouse.errors import ClickHouseError, ErrorCode

_GZIP_WINDOW = 31
_ZLIB_WINDOW = 15
OFFERED = ("lz4", "zstd", "gzip", "deflate")
"""Codings for answers, the cheapest for the server first."""


class _FrameDecoder(Protocol):
    """What zlib's, zstd's and lz4's decompressors of one frame have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _new_frame(coding: str) -> _FrameDecoder:
    match coding:
        case "lz4":
            decoder: _FrameDecoder = lz4.frame.LZ4FrameDecompressor()
        case "zstd":
            decoder = zstd.ZstdDecompressor()
        case "gzip":
            decoder = zlib.decompressobj(_GZIP_WINDOW)
        case "deflate":
            decoder = zlib.decompressobj(_ZLIB_WINDOW)
        case _:
            raise ClickHouseError.of(
                ErrorCode.UNKNOWN_COMPRESSION_METHOD, f"Unknown compression method: {coding}"
            )
    return decoder


class Decoder:
    """Undoes a request's Content-Encoding, piece by piece.

    Raises:
        ClickHouseError: unknown coding (at construction), damaged or cut-off data.
    """

    def __init__(self, coding: str) -> None:
        self._coding = coding if coding != "identity" else ""
        self._frame = _new_frame(self._coding) if self._coding else None
        self._frame_started = False

    def feed(self, data: bytes) -> bytes:
        """Return what these bytes decode to, possibly nothing yet."""
        if self._frame is None:
            return data
        parts: list[bytes] = []
        while data:
            data = self._feed_frame(data, parts)
        return b"".join(parts)

    def _feed_frame(self, data: bytes, parts: list[bytes]) -> bytes:
        if self._frame is None or self._frame.eof:
            self._frame, self._frame_started = _new_frame(self._coding), False
        try:
            parts.append(self._frame.decompress(data))
        except (RuntimeError, OSError, EOFError, zlib.error, zstd.ZstdError) as error:
            raise ClickHouseError.of(
                ErrorCode.CANNOT_DECOMPRESS, f"Cannot decompress {self._coding} data: {error}"
            ) from error
        self._frame_started = True
        return (self._frame.unused_data or b"") if self._frame.eof else b""

    def finish(self) -> None:
        """Check that the body did not end inside a frame."""
        if self._frame is not None and self._frame_started and not self._frame.eof:
            raise ClickHouseError.of(
                ErrorCode.CANNOT_DECOMPRESS, f"The {self._coding} data breaks off"
            )


class Encoder:
    """Applies a Content-Encoding to an answer; the whole answer is one frame."""

    def __init__(self, coding: str) -> None:
        self._lz4 = lz4.frame.LZ4FrameCompressor() if coding == "lz4" else None
        self._started = False
        self._other = None if self._lz4 else _new_compressor(coding)

    def feed(self, data: bytes) -> bytes:
        """Return the next compressed bytes, possibly none yet."""
        if self._lz4 is None:
            assert self._other is not None
            return self._other.compress(data)
        head = b"" if self._started else self._lz4.begin()
        self._started = True
        return bytes(head + self._lz4.compress(data))

    def finish(self) -> bytes:
        """Return the rest and the end of the frame."""
        if self._lz4 is None:
            assert self._other is not None
            return self._other.flush()
        head = b"" if self._started else self._lz4.begin()
        return bytes(head + self._lz4.flush())


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


def _new_compressor(coding: str) -> _Compressor:
    if coding == "zstd":
        return zstd.ZstdCompressor(level=1)
    window = _GZIP_WINDOW if coding == "gzip" else _ZLIB_WINDOW
    return zlib.compressobj(level=1, wbits=window)


def choose_coding(accept_encoding: str) -> str | None:
    """Return the coding for an answer from an Accept-Encoding header, or None for none."""
    accepted = {part.split(";")[0].strip().lower() for part in accept_encoding.split(",")}
    return next((coding for coding in OFFERED if coding in accepted), None)
