"""Reading a request's body."""

import gzip
import tracemalloc
from collections.abc import Sequence

import pytest
from backports import zstd

from deploy.clickhouse.block_frames import FrameEncoder
from deploy.clickhouse.body import ClientGoneError, Message, Receive, RequestBody
from deploy.clickhouse.compression import PIECE_BYTES
from deploy.clickhouse.errors import ClickHouseError, ErrorCode


def _receive(messages: Sequence[Message]) -> Receive:
    waiting = iter(messages)

    async def receive() -> Message:
        return next(waiting)

    return receive


def _parts(*parts: bytes) -> list[Message]:
    last = len(parts) - 1
    return [
        {"type": "http.request", "body": part, "more_body": number < last}
        for number, part in enumerate(parts)
    ]


async def test_pieces_are_gathered_to_the_size_asked_for() -> None:
    body = RequestBody(_receive(_parts(b"a", b"", b"bc", b"d", b"e")), "")

    assert await body.next_piece(3) == b"abc"
    assert await body.next_piece(100) == b"de"
    assert await body.next_piece() == b""


async def test_a_body_that_breaks_off_is_no_body() -> None:
    body = RequestBody(
        _receive([*_parts(b"a", b"")[:1], {"type": "http.disconnect"}]),
        "",
    )

    assert await body.next_piece() == b"a"
    with pytest.raises(ClientGoneError):
        await body.next_piece()


async def test_an_encoded_body_that_ends_too_early_is_refused() -> None:
    whole = gzip.compress(b"x" * 1000)
    body = RequestBody(_receive(_parts(whole[:10], whole[10:-4])), "gzip")

    with pytest.raises(ClickHouseError) as caught:
        await body.rest(10_000)

    assert caught.value.code == ErrorCode.CANNOT_DECOMPRESS


async def test_rest_is_bounded_after_decoding() -> None:
    body = RequestBody(_receive(_parts(gzip.compress(b"x" * 100_001))), "gzip")

    with pytest.raises(ClickHouseError) as caught:
        await body.rest(100_000)

    assert caught.value.code == ErrorCode.QUERY_IS_TOO_LARGE


async def test_a_body_that_would_become_huge_is_decoded_no_further_than_asked_for() -> None:
    bomb = zstd.compress(bytes(200 * PIECE_BYTES))
    body = RequestBody(_receive(_parts(bomb)), "zstd")

    tracemalloc.start()
    assert len(await body.next_piece(10)) == PIECE_BYTES
    with pytest.raises(ClickHouseError) as caught:
        await body.rest(2 * PIECE_BYTES)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert caught.value.code == ErrorCode.QUERY_IS_TOO_LARGE
    assert peak_bytes < 10 * PIECE_BYTES


async def test_rest_goes_on_behind_what_was_read() -> None:
    body = RequestBody(_receive(_parts(b"ab", b"cd")), "")
    start = await body.next_piece()

    assert await body.rest(4, start) == b"abcd"


async def test_client_gone_returns_once_the_client_disconnects() -> None:
    body = RequestBody(_receive([*_parts(b""), {"type": "http.disconnect"}]), "")

    await body.client_gone()


async def test_frames_below_a_content_encoding_are_undone() -> None:
    encoder = FrameEncoder({})
    framed = gzip.compress(encoder.feed(b"SELECT 1") + encoder.finish())
    body = RequestBody(_receive(_parts(framed[:20], framed[20:])), "gzip", is_framed=True)

    assert await body.rest(100) == b"SELECT 1"


async def test_a_body_that_ends_inside_a_frame_is_refused() -> None:
    encoder = FrameEncoder({})
    framed = encoder.feed(b"SELECT 1") + encoder.finish()
    body = RequestBody(_receive(_parts(framed[:-2])), "", is_framed=True)

    with pytest.raises(ClickHouseError) as caught:
        await body.rest(100)

    assert caught.value.code == ErrorCode.CANNOT_DECOMPRESS
