"""Content codings, as streams."""

import gzip
import tracemalloc
import zlib
from typing import Any

import pytest
from backports import zstd
from clickhouse_connect.driver.compression import get_compressor
from hypothesis import given
from hypothesis import strategies as st

from deploy.clickhouse.compression import OFFERED, PIECE_BYTES, Decoder, Encoder, choose_coding
from deploy.clickhouse.errors import ClickHouseError, ErrorCode

_PIECES = st.lists(st.binary(max_size=2000), max_size=6)


def _decode(coding: str, pieces: list[bytes]) -> bytes:
    decoder = Decoder(coding)
    text = b"".join(part for piece in pieces for part in decoder.feed(piece))
    decoder.finish()
    return text


@pytest.mark.parametrize("coding", OFFERED)
@given(pieces=_PIECES, cut=st.integers(1, 500))
def test_data_is_decoded_as_it_was_encoded_however_it_is_cut(
    coding: str, pieces: list[bytes], cut: int
) -> None:
    encoder = Encoder(coding)
    encoded = b"".join(encoder.feed(piece) for piece in pieces) + encoder.finish()
    cuts = [encoded[start : start + cut] for start in range(0, len(encoded), cut)]

    assert _decode(coding, cuts) == b"".join(pieces)


@pytest.mark.parametrize("coding", ["lz4", "zstd", "gzip"])
def test_a_frame_for_each_block_as_the_client_sends(coding: str) -> None:
    blocks = [bytes([n]) * 70_000 for n in range(5)]
    compressor: Any = get_compressor(coding)
    body = b"".join(bytes(compressor.compress_block(block)) for block in blocks)
    body += compressor.flush() or b""

    assert _decode(coding, [body]) == b"".join(blocks)
    assert _decode(coding, [body[n : n + 777] for n in range(0, len(body), 777)]) == b"".join(
        blocks
    )


@pytest.mark.parametrize("coding", ["", "identity"])
def test_a_body_without_coding_is_left_as_it_is(coding: str) -> None:
    assert _decode(coding, [b"a", b"b"]) == b"ab"


@pytest.mark.parametrize("coding", OFFERED)
def test_an_empty_body_stays_empty(coding: str) -> None:
    assert _decode(coding, []) == b""
    assert _decode(coding, [b""]) == b""


def test_an_unknown_coding_is_refused() -> None:
    with pytest.raises(ClickHouseError) as caught:
        Decoder("br")

    assert caught.value.code == ErrorCode.UNKNOWN_COMPRESSION_METHOD


@pytest.mark.parametrize("coding", OFFERED)
def test_damaged_data_is_refused(coding: str) -> None:
    with pytest.raises(ClickHouseError) as caught:
        list(Decoder(coding).feed(b"this was never compressed by anything at all"))

    assert caught.value.code == ErrorCode.CANNOT_DECOMPRESS


@pytest.mark.parametrize(
    "whole", [gzip.compress(b"x" * 1000), zlib.compress(b"x" * 1000)], ids=["gzip", "deflate"]
)
def test_data_that_breaks_off_is_refused(whole: bytes) -> None:
    decoder = Decoder("gzip" if whole[:2] == b"\x1f\x8b" else "deflate")
    list(decoder.feed(whole[:-6]))

    with pytest.raises(ClickHouseError):
        decoder.finish()


def _bomb(coding: str) -> bytes:
    """Return few bytes that become 64 MiB and one byte, in two frames."""
    encoder, second = Encoder(coding), Encoder(coding)
    halves = [encoder.feed(bytes(PIECE_BYTES)) for _ in range(64)] + [encoder.finish()]
    return b"".join(halves) + second.feed(b"x") + second.finish()


@pytest.mark.parametrize("coding", OFFERED)
def test_few_bytes_that_become_many_are_decoded_in_pieces(coding: str) -> None:
    body = _bomb(coding)
    tracemalloc.start()
    pieces = [(len(piece), piece[-1:]) for piece in Decoder(coding).feed(body) if piece]
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert sum(size for size, _ in pieces) == 64 * PIECE_BYTES + 1
    assert max(size for size, _ in pieces) <= PIECE_BYTES
    assert pieces[-1] == (1, b"x")
    assert peak_bytes < 8 * PIECE_BYTES


def test_a_zstd_frame_that_asks_for_a_large_window_is_refused() -> None:
    parameter = zstd.CompressionParameter
    compressor = zstd.ZstdCompressor(options={parameter.window_log: 27})
    body = compressor.compress(bytes(1000)) + compressor.flush()

    with pytest.raises(ClickHouseError) as caught:
        list(Decoder("zstd").feed(body))

    assert caught.value.code == ErrorCode.CANNOT_DECOMPRESS


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        ("", None),
        ("identity", None),
        ("br", None),
        ("gzip, deflate", "gzip"),
        ("lz4,zstd,gzip,deflate", "lz4"),
        ("zstd;q=1.0, gzip", "zstd"),
        ("GZIP", "gzip"),
    ],
)
def test_the_best_accepted_coding_is_chosen(header: str, coding: str | None) -> None:
    assert choose_coding(header) == coding
