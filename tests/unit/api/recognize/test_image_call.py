"""The image call's body and answer."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from starlette.requests import Request

from api.errors import ApiError, ErrorCode
from api.middleware import bodies
from api.middleware.bodies import MAX_IMAGE_BYTES, read_image_body
from api.recognize.schemas import plate_results
from common.records.frames import Box
from common.records.recognitions import CharacterOption, PlateReading
from recognition.workers.pool import ImageReadings

JPEG = b"\xff\xd8\xff\xe0"


def _request(chunks: Iterable[bytes], announced: str | None = None) -> Request:
    waiting = list(chunks)
    headers = [] if announced is None else [(b"content-length", announced.encode())]

    async def receive() -> dict[str, Any]:
        chunk = waiting.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(waiting)}

    return Request({"type": "http", "headers": headers, "method": "POST", "path": "/"}, receive)


async def test_a_body_in_pieces_comes_whole() -> None:
    assert await read_image_body(_request([JPEG[:1], JPEG[1:], b"", b"abc"])) == JPEG + b"abc"


@pytest.mark.parametrize(
    ("chunks", "announced", "code"),
    [
        ([b""], "0", ErrorCode.EMPTY_IMAGE),
        ([b"GIF89a"], None, ErrorCode.UNSUPPORTED_IMAGE),
        ([JPEG], str(MAX_IMAGE_BYTES + 1), ErrorCode.BODY_TOO_LARGE),
        # What is announced is not believed where it is too little.
        ([JPEG, bytes(MAX_IMAGE_BYTES - 4), b"x"], "4", ErrorCode.BODY_TOO_LARGE),
        ([b"x" * (MAX_IMAGE_BYTES + 1)], "many", ErrorCode.BODY_TOO_LARGE),
    ],
    ids=["empty", "gif", "announced", "one_byte_more", "text"],
)
async def test_a_bad_body_is_refused(
    chunks: list[bytes], announced: str | None, code: ErrorCode
) -> None:
    with pytest.raises(ApiError) as refused:
        await read_image_body(_request(chunks, announced))

    assert refused.value.code is code


async def test_a_client_that_disconnects_or_stalls_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def asleep() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError("never")

    monkeypatch.setattr(bodies, "IMAGE_BODY_SECONDS", 0.01)
    for receive in (gone, asleep):
        scope = {"type": "http", "headers": [], "method": "POST", "path": "/"}
        with pytest.raises(ApiError) as refused:
            await read_image_body(Request(scope, receive))
        assert refused.value.code is ErrorCode.INCOMPLETE_BODY


async def test_exactly_the_limit_is_taken() -> None:
    data = await read_image_body(_request([JPEG, bytes(MAX_IMAGE_BYTES - 4)]))

    assert len(data) == MAX_IMAGE_BYTES


def test_a_plate_as_the_interface_names_it() -> None:
    probabilities = (0.994, 0.98, 0.5)
    reading = PlateReading(
        text="AB1",
        confidence=0.87,
        detection_confidence=0.9,
        box=Box(x=-2.4, y=10.6, width=50.0, height=500.0),
        positions=tuple(
            (CharacterOption(character=character, probability=probability),)
            for character, probability in zip("AB1", probabilities, strict=True)
        ),
    )
    (result,) = plate_results(
        ImageReadings(readings=(reading,), width_px=640, height_px=480, duration_ms=1.0)
    )

    assert result.model_dump(mode="json") == {
        "plate": "AB1",
        "conf": 87.0,
        "charConfs": "0.9940;0.9800;0.5000",
        "coordinateLeft": 0,
        "coordinateTop": 11,
        "coordinateRight": 48,
        "coordinateBottom": 480,
        "plateType": "car",
    }
