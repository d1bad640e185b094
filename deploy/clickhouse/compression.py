"""HTTP content codings that clickhouse-connect uses, both ways, as streams.

A body may be several compressed frames one after the other: the client makes one per block.
"""

import zlib
from collections.abc import Iterator
from typing import Final, Protocol

import lz4.frame  # type: ignore[import-untyped]
from backports import zstd

from deploy.clickhouse.errors import ClickHouseError, ErrorCode

_GZIP_WINDOW = 31
_ZLIB_WINDOW = 15
OFFERED = ("lz4", "zstd", "gzip", "deflate")
"""Codings for answers, the cheapest for the server first."""


PIECE_BYTES: Final = 1024 * 1024
"""Decoded bytes that are made at a time, however few bytes they come from."""
_WINDOW_LOG: Final = 23
"""Zstandard's window as HTTP allows it at most, 8 MiB: a frame may ask for 2 GiB of memory.

**Source:** RFC 9659, section 3.
"""


class _FrameDecoder(Protocol):
    """One frame's decompressor: zlib's, zstd's and lz4's alike."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes | None: ...

    def decompress(self, data: bytes, /, max_length: int) -> bytes: ...


class _ZlibFrame:
    """Makes zlib keep what it did not decode yet, as the others do."""

    def __init__(self, window: int) -> None:
        self._decoder = zlib.decompressobj(window)

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, /, max_length: int) -> bytes:
        return self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)


def _new_frame(coding: str) -> _FrameDecoder:
    match coding:
        case "lz4":
            decoder: _FrameDecoder = lz4.frame.LZ4FrameDecompressor()
        case "zstd":
            window: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
            decoder = zstd.ZstdDecompressor(options=window)
        case "gzip":
            decoder = _ZlibFrame(_GZIP_WINDOW)
        case "deflate":
            decoder = _ZlibFrame(_ZLIB_WINDOW)
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

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what these bytes decode to, if anything, in pieces of ``PIECE_BYTES`` at most.

        A piece is decoded when it is asked for; take all of them before the next call.
        """
        if self._frame is None:
            yield data
            return
        while data:
            if self._frame.eof:
                self._frame, self._frame_started = _new_frame(self._coding), False
            yield from self._frame_pieces(self._frame, data)
            data = (self._frame.unused_data or b"") if self._frame.eof else b""

    def _frame_pieces(self, frame: _FrameDecoder, data: bytes) -> Iterator[bytes]:
        self._frame_started = True
        piece = self._decompress(frame, data)
        while len(piece) == PIECE_BYTES and not frame.eof:
            yield piece
            piece = self._decompress(frame, b"")
        yield piece

    def _decompress(self, frame: _FrameDecoder, data: bytes) -> bytes:
        try:
            return frame.decompress(data, max_length=PIECE_BYTES)
        except (RuntimeError, OSError, EOFError, zlib.error, zstd.ZstdError) as error:
            raise ClickHouseError.of(
                ErrorCode.CANNOT_DECOMPRESS, f"Cannot decompress {self._coding} data: {error}"
            ) from error

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
