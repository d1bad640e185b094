"""Reading an image from a request: never more of it than is allowed."""

import asyncio

from starlette.requests import ClientDisconnect, Request

from api.errors import ApiError, ErrorCode

MAX_IMAGE_BYTES = 10 * 1024 * 1024
"""10 MB of the interface, read as 10 MiB so that neither reading of it is refused."""

BODY_SECONDS = 60.0
"""How long the body may take to come: 10 MB at 1.4 Mbit/s."""

# What still comes is not read, so the connection cannot be used again.
_CLOSE = {"Connection": "close"}
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
        async with asyncio.timeout(BODY_SECONDS):
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
