"""Content codings, as streams."""

import gzip
import zlib
from typing import Any

import pytest
from clickhouse_connect.driver.compression import get_compressor
from hypothesis import given
from hypothesis import strategies as st

from deploy.clickhouse.compression import OFFERED, Decoder, Encoder, choose_coding
from deploy.clickhouse.errors import ClickHouseError, ErrorCode

_PIECES = st.lists(st.binary(max_size=2000), max_size=6)


def _decode(coding: str, pieces: list[bytes]) -> bytes:
    decoder = Decoder(coding)
    text = b"".join(decoder.feed(piece) for piece in pieces)
    decoder.finish()
    return text


@pytest.mark.parametrize("coding", OFFERED)
@given(pieces=_PIECES, cut=st.integers(1, 500))
def test_there_and_back_however_it_is_cut(coding: str, pieces: list[bytes], cut: int) -> None:
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
def test_nothing_to_undo(coding: str) -> None:
    assert _decode(coding, [b"a", b"b"]) == b"ab"


@pytest.mark.parametrize("coding", OFFERED)
def test_empty_body(coding: str) -> None:
    assert _decode(coding, []) == b""
    assert _decode(coding, [b""]) == b""


def test_unknown_coding() -> None:
    with pytest.raises(ClickHouseError) as caught:
        Decoder("br")

    assert caught.value.code == ErrorCode.UNKNOWN_COMPRESSION_METHOD


@pytest.mark.parametrize("coding", OFFERED)
def test_damaged_data(coding: str) -> None:
    with pytest.raises(ClickHouseError) as caught:
        Decoder(coding).feed(b"this was never compressed by anything at all")

    assert caught.value.code == ErrorCode.CANNOT_DECOMPRESS


@pytest.mark.parametrize(
    "whole", [gzip.compress(b"x" * 1000), zlib.compress(b"x" * 1000)], ids=["gzip", "deflate"]
)
def test_data_that_breaks_off(whole: bytes) -> None:
    decoder = Decoder("gzip" if whole[:2] == b"\x1f\x8b" else "deflate")
    decoder.feed(whole[:-6])

    with pytest.raises(ClickHouseError):
        decoder.finish()


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
def test_choice_of_coding(header: str, coding: str | None) -> None:
    assert choose_coding(header) == coding
