"""Request bodies, and frames of responses."""

import gzip
import io
import os
import struct
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lz4.block  # type: ignore[import-untyped]
import pytest
from backports import zstd
from clickhouse_cityhash.cityhash import CityHash128  # type: ignore[import-untyped]
from clickhouse_connect.driver.compression import get_compressor

from deploy.clickhouse import encoding
from deploy.clickhouse.encoding import (
    ClientDisconnectedError,
    Receive,
    copied,
    decoded,
    framed,
    read,
    received,
)
from deploy.clickhouse.errors import ClickHouseError, ErrorCode

_MIB = 1 << 20
_ENCODINGS = ("lz4", "zstd", "gzip")


def _receive(*parts: bytes, breaks_off: bool = False) -> Receive:
    last = len(parts) - 1
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": part, "more_body": breaks_off or number < last}
        for number, part in enumerate(parts)
    ]
    waiting = iter([*messages, {"type": "http.disconnect"}])

    async def receive() -> dict[str, Any]:
        return next(waiting)

    return receive


def _encoded(coding: str, blocks: Sequence[bytes]) -> bytes:
    compressor: Any = get_compressor(coding)
    body = b"".join(bytes(compressor.compress_block(block)) for block in blocks)
    return body + (compressor.flush() or b"")


def _decoded(coding: str, body: bytes) -> bytes:
    return read(decoded(io.BytesIO(body), coding), 100 * _MIB)


async def test_a_body_is_received_whole(tmp_path: Path) -> None:
    long = b"x" * (2 * _MIB)

    async with received(_receive(b"a", b"", long, b"c"), tmp_path, float("inf")) as body:
        assert body.read() == b"a" + long + b"c"
    assert not any(os.scandir(tmp_path))


async def test_a_body_that_breaks_off_is_no_body(tmp_path: Path) -> None:
    with pytest.raises(ClientDisconnectedError):
        async with received(_receive(b"a", breaks_off=True), tmp_path, float("inf")):
            pytest.fail("a body came")


async def test_a_body_beyond_its_limit_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ClickHouseError) as caught:
        async with received(_receive(b"a" * 60, b"a" * 60), tmp_path, 100):
            pytest.fail("a body came")

    assert caught.value.code == ErrorCode.QUERY_IS_TOO_LARGE


async def test_long_bodies_leave_space_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "KEEP_FREE_BYTES", 1 << 62)
    piece = b"x" * (_MIB + 1)

    async with received(_receive(piece), tmp_path, float("inf")) as body:
        with copied(b"short", io.BytesIO(b"!"), tmp_path):
            pass
        with pytest.raises(ClickHouseError) as caught, copied(piece, body, tmp_path):
            pytest.fail("it was copied")

    assert caught.value.code == ErrorCode.NOT_ENOUGH_SPACE


def test_an_unknown_encoding_is_rejected() -> None:
    with pytest.raises(ClickHouseError) as caught:
        decoded(io.BytesIO(b"x"), "br")

    assert caught.value.code == ErrorCode.UNKNOWN_COMPRESSION_METHOD


@pytest.mark.parametrize("coding", _ENCODINGS)
@pytest.mark.parametrize("is_cut", [True, False])
def test_damaged_data_is_rejected(coding: str, is_cut: bool) -> None:
    whole = _encoded(coding, [bytes(range(256)) * 10])

    with pytest.raises(ClickHouseError) as caught:
        _decoded(coding, whole[:-7] if is_cut else b"this was never compressed at all")

    assert caught.value.code == ErrorCode.CANNOT_DECOMPRESS


@pytest.mark.parametrize("coding", _ENCODINGS)
def test_a_body_that_would_become_huge_is_decoded_no_further_than_asked_for(coding: str) -> None:
    bomb = io.BytesIO(_encoded(coding, [bytes(64 * _MIB)]))

    tracemalloc.start()
    body = decoded(bomb, coding)
    sizes = [len(read(body, size)) for size in (10, _MIB, 2 * _MIB)]
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert sizes == [10, _MIB, 2 * _MIB]
    assert peak_bytes < 10 * _MIB


def test_a_zstd_frame_that_asks_for_a_large_window_is_rejected() -> None:
    parameter = zstd.CompressionParameter
    compressor = zstd.ZstdCompressor(options={parameter.window_log: 27})
    body = compressor.compress(bytes(1000)) + compressor.flush()

    with pytest.raises(ClickHouseError) as caught:
        _decoded("zstd", body)

    assert caught.value.code == ErrorCode.CANNOT_DECOMPRESS


def test_a_copy_has_what_was_read_and_the_rest(tmp_path: Path) -> None:
    body = decoded(io.BytesIO(gzip.compress(b"x" * 3 * _MIB)), "gzip")
    start = read(body, 10)

    with copied(start, body, tmp_path) as file:
        assert Path(f"/proc/self/fd/{file.fileno()}").read_bytes() == b"x" * 3 * _MIB
    with copied(b"", io.BytesIO(b"abc"), tmp_path) as file:
        file.seek(0)
        assert file.read() == b"abc"
    assert not any(os.scandir(tmp_path))


@pytest.mark.parametrize("size", [0, 1, _MIB, 2 * _MIB + 1])
def test_an_answer_in_frames_is_what_it_was(size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"y" * (size % 256)
    rest, found = framed(data), list[bytes]()

    while rest:
        checksum = struct.unpack_from("<QQ", rest)
        method, packed, plain = struct.unpack_from("<BII", rest, 16)
        body = rest[16 : 16 + packed]
        assert checksum == divmod(CityHash128(body), 1 << 64)
        assert (method, plain <= _MIB) == (0x82, True)
        found.append(lz4.block.decompress(body[9:], uncompressed_size=plain))
        rest = rest[16 + packed :]

    assert b"".join(found) == data
