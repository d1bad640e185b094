"""Reads request bodies, JSON and images: how many bytes, and for how long."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from api.errors import ApiError, ErrorCode

MAX_JSON_BODY_BYTES = 1_048_576
MAX_PUBLIC_JSON_BODY_BYTES = 16_384
"""Of callers without a credential: room for an address and a password, however they are escaped."""

JSON_BODY_SECONDS = 20.0
"""The time for the whole body, however much trickles in."""

# What still comes is not read, so the connection cannot be used again. HTTPException, because it is
# the one kind of error that FastAPI lets through while it reads a body.
_CLOSE = {"Connection": "close"}


def with_limited_body(request: Request, max_bytes: int) -> Request:
    """Return the request, of whose body no more than ``max_bytes`` are read.

    Reading it raises HTTPException: 413 for one byte more, 408 for a body that does not come to
    its end in time.
    """
    read = 0
    until = asyncio.get_running_loop().time() + JSON_BODY_SECONDS

    async def receive() -> Message:
        nonlocal read
        try:
            async with asyncio.timeout_at(until):
                message = await request.receive()
        except TimeoutError as error:
            raise HTTPException(408, headers=_CLOSE) from error
        read += len(message.get("body", b""))
        if read > max_bytes:
            raise HTTPException(413, headers=_CLOSE)
        return message

    return Request(request.scope, receive)


MAX_IMAGE_BYTES = 10 * 1024 * 1024
"""10 MB of the interface, read as 10 MiB so that neither reading of it is refused."""

IMAGE_BODY_SECONDS = 60.0
"""The time for the whole body: 10 MB at 1.4 Mbit/s."""

# What still comes is not read, so the connection cannot be used again.
_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")


async def read_image_body(request: Request) -> bytes:
    """Return the body, once it is known to be small enough and to begin like a JPEG or PNG.

    Raises:
        ApiError: 413 as soon as one byte too many was announced or has come; 400 where it is
            empty, begins like something else or does not come to its end.
    """
    if _announced_bytes(request) > MAX_IMAGE_BYTES:
        raise _too_large()
    try:
        async with asyncio.timeout(IMAGE_BODY_SECONDS):
            data = await _read(request)
    except (TimeoutError, ClientDisconnect) as error:
        raise ApiError(ErrorCode.INCOMPLETE_BODY, headers=_CLOSE) from error
    if not data:
        raise ApiError(ErrorCode.EMPTY_IMAGE)
    if not data.startswith(_MAGIC):
        raise ApiError(ErrorCode.UNSUPPORTED_IMAGE)
    return data


async def _read(request: Request) -> bytes:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_IMAGE_BYTES:
            raise _too_large()
    return bytes(data)


def _announced_bytes(request: Request) -> int:
    announced = request.headers.get("content-length", "")
    return int(announced) if announced.isdecimal() else 0


def _too_large() -> ApiError:
    return ApiError(
        ErrorCode.BODY_TOO_LARGE,
        f"The image is larger than {MAX_IMAGE_BYTES} bytes.",
        headers=_CLOSE,
    )
