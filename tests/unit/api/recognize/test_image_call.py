"""Body and response of the image call."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
from starlette.requests import Request

from api.errors import ApiError, BodyRefusedError, ErrorCode
from api.middleware import bodies
from api.middleware.bodies import (
    IMAGE_RULE,
    MAX_IMAGE_BYTES,
    UNCOUNTED_BYTES,
    BodyRule,
    declared_body_size,
    limit_body,
    read_image_body,
)
from api.recognize.answers import plate_results
from common.records.frames import Box
from common.records.recognitions import CharacterOption, PlateReading
from recognition.workers.protocol import ImageReadings

JPEG = b"\xff\xd8\xff\xe0"


def _request(chunks: Iterable[bytes], announced: str | None = None) -> Request:
    waiting = list(chunks)
    headers = [] if announced is None else [(b"content-length", announced.encode())]

    async def receive() -> dict[str, Any]:
        chunk = waiting.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(waiting)}

    return Request({"type": "http", "headers": headers, "method": "POST", "path": "/"}, receive)


async def _read(request: Request, rule: BodyRule = IMAGE_RULE) -> bytes:
    """Return the body, read as a route does after the checks."""
    declared_body_size(request, rule)
    return await read_image_body(limit_body(request, rule, lambda _: None))


async def test_a_body_in_pieces_comes_whole() -> None:
    assert await _read(_request([JPEG[:1], JPEG[1:], b"", b"abc"])) == JPEG + b"abc"


@pytest.mark.parametrize(
    ("chunks", "announced", "code"),
    [([b""], "0", ErrorCode.EMPTY_IMAGE), ([b"GIF89a"], None, ErrorCode.UNSUPPORTED_IMAGE)],
    ids=["empty", "gif"],
)
async def test_a_bad_image_is_refused(
    chunks: list[bytes], announced: str | None, code: ErrorCode
) -> None:
    with pytest.raises(ApiError) as refused:
        await _read(_request(chunks, announced))

    assert refused.value.code is code


@pytest.mark.parametrize(
    ("chunks", "announced"),
    [
        ([JPEG], str(MAX_IMAGE_BYTES + 1)),
        # An announced length that is too small is ignored.
        ([JPEG, bytes(MAX_IMAGE_BYTES - 4), b"x"], "4"),
        ([b"x" * (MAX_IMAGE_BYTES + 1)], "many"),
    ],
    ids=["announced", "one_byte_more", "text"],
)
async def test_a_body_that_is_too_large_is_refused(
    chunks: list[bytes], announced: str | None
) -> None:
    with pytest.raises(BodyRefusedError) as refused:
        await _read(_request(chunks, announced))

    assert refused.value.answer.code is ErrorCode.BODY_TOO_LARGE
    assert refused.value.answer.headers == {"Connection": "close"}


async def _gone() -> dict[str, Any]:
    return {"type": "http.disconnect"}


async def _asleep() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError("never")


async def _trickling() -> dict[str, Any]:
    await asyncio.sleep(0.001)
    return {"type": "http.request", "body": b"x", "more_body": True}


@pytest.mark.parametrize("receive", [_gone, _asleep, _trickling])
@pytest.mark.parametrize("stalls", [False, True], ids=["all_in_all", "at_once"])
async def test_a_client_that_disconnects_or_stalls_is_dropped(
    receive: Callable[[], Awaitable[dict[str, Any]]],
    stalls: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bodies, "STALL_SECONDS", 0.05)
    rule = BodyRule(MAX_IMAGE_BYTES, 3600, 10_000) if stalls else BodyRule(MAX_IMAGE_BYTES, 0.05)
    scope = {"type": "http", "headers": [], "method": "POST", "path": "/"}
    with pytest.raises(BodyRefusedError) as refused:
        await _read(Request(scope, receive), rule)
    assert refused.value.answer.code is ErrorCode.INCOMPLETE_BODY


async def test_a_slow_body_that_goes_on_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    true_time, later, sent = loop.time, 0.0, 0
    monkeypatch.setattr(loop, "time", lambda: true_time() + later)

    async def receive() -> dict[str, Any]:
        nonlocal later, sent
        await asyncio.sleep(0)
        later += bodies.STALL_SECONDS * 0.6
        sent += 1
        return {"type": "http.request", "body": JPEG, "more_body": sent < 9}

    scope = {"type": "http", "headers": [], "method": "POST", "path": "/"}
    assert await _read(Request(scope, receive), BodyRule(100, 3600, len(JPEG))) == JPEG * 9


async def test_received_bytes_are_reported() -> None:
    told: list[int] = []
    request = limit_body(_request([JPEG, b"ab", b"c"]), IMAGE_RULE, told.append)
    await read_image_body(request)
    assert told == [7]


@pytest.mark.parametrize(
    ("headers", "size"),
    [
        ({}, 0),
        ({"content-length": "0"}, 0),
        ({"content-length": str(UNCOUNTED_BYTES)}, 0),
        ({"content-length": str(UNCOUNTED_BYTES + 1)}, UNCOUNTED_BYTES + 1),
        ({"transfer-encoding": "chunked"}, MAX_IMAGE_BYTES),
    ],
    ids=["none", "empty", "little", "much", "unknown"],
)
def test_the_size_of_a_body_is_known_before_it_comes(headers: dict[str, str], size: int) -> None:
    named = [(name.encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "headers": named, "method": "POST", "path": "/"})
    assert declared_body_size(request, IMAGE_RULE) == size


async def test_exactly_the_limit_is_taken() -> None:
    data = await _read(_request([JPEG, bytes(MAX_IMAGE_BYTES - 4)]))

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
