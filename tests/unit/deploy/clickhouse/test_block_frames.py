"""ClickHouse's own compressed frames."""

import lz4.block  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.clickhouse.block_frames import FrameDecoder, FrameEncoder
from deploy.clickhouse.errors import ClickHouseError, ErrorCode


def _framed(data: bytes, method: str) -> bytes:
    encoder = FrameEncoder({"network_compression_method": method})
    return encoder.feed(data) + encoder.finish()


def _unframed(data: bytes, step: int) -> bytes:
    decoder = FrameDecoder()
    pieces = [
        piece
        for start in range(0, len(data), step)
        for piece in decoder.feed(data[start : start + step])
    ]
    decoder.finish()
    return b"".join(pieces)


@given(
    st.binary(max_size=3000),
    st.integers(1, 700),
    st.sampled_from(["LZ4", "lz4hc", "zstd", "none"]),
)
def test_what_was_framed_comes_out_again(data: bytes, repeats: int, method: str) -> None:
    data *= repeats

    assert _unframed(_framed(data, method), step=1013) == data


def test_an_empty_answer_has_no_frame() -> None:
    assert _framed(b"", "LZ4") == b""


def test_a_long_answer_has_frames_of_a_mebibyte() -> None:
    framed = _framed(b"x" * (2 << 20) + b"y", "NONE")

    heads = 3 * 25
    assert len(framed) == (2 << 20) + 1 + heads


@pytest.mark.parametrize("place", [0, 15, 16, 30])
def test_a_damaged_frame_is_refused(place: int) -> None:
    framed = bytearray(_framed(b"some text that is long enough" * 9, "LZ4"))
    framed[place] ^= 1

    with pytest.raises(ClickHouseError) as caught:
        _unframed(bytes(framed), step=len(framed))

    assert caught.value.code == ErrorCode.CANNOT_DECOMPRESS


def test_a_frame_that_breaks_off_is_refused() -> None:
    with pytest.raises(ClickHouseError, match="breaks off"):
        _unframed(_framed(b"some text", "LZ4")[:-1], step=5)


@pytest.mark.parametrize("place", [17, 21])
def test_a_frame_that_claims_to_be_huge_is_refused_before_it_comes(place: int) -> None:
    framed = bytearray(_framed(b"some text", "LZ4"))
    framed[place : place + 4] = (1 << 30).to_bytes(4, "little")

    with pytest.raises(ClickHouseError, match="too large"):
        list(FrameDecoder().feed(bytes(framed[:25])))


def test_a_frame_that_holds_more_than_it_says_is_refused() -> None:
    packed = lz4.block.compress(b"x" * 100_000, store_size=False)
    framed = bytearray(_framed(b"x" * 100_000, "LZ4"))
    assert framed.endswith(packed)
    framed[21:25] = (10).to_bytes(4, "little")

    with pytest.raises(ClickHouseError):
        list(FrameDecoder().feed(bytes(framed)))
