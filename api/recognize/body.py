"""Reading an image from a request: never more of it than is allowed."""

from starlette.requests import Request

from api.errors import ApiError, ErrorCode

MAX_IMAGE_BYTES = 10 * 1024 * 1024
"""10 MB of the interface, read as 10 MiB so that neither reading of it is refused."""

_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")


async def read_image_body(request: Request) -> bytes:
    """Return the body, once it is known to be small enough and to begin like a JPEG or PNG.

    Raises:
        ApiError: 413 as soon as one byte too many was announced or has come; 400 where it is
            empty or begins like something else.
    """
    if _announced_bytes(request) > MAX_IMAGE_BYTES:
        raise _too_large()
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_IMAGE_BYTES:
            raise _too_large()
    if not data:
        raise ApiError(ErrorCode.EMPTY_IMAGE)
    if not data.startswith(_MAGIC):
        raise ApiError(ErrorCode.UNSUPPORTED_IMAGE)
    return bytes(data)


def _announced_bytes(request: Request) -> int:
    announced = request.headers.get("content-length", "")
    return int(announced) if announced.isdecimal() else 0


def _too_large() -> ApiError:
    return ApiError(
        ErrorCode.BODY_TOO_LARGE,
        f"The image is larger than {MAX_IMAGE_BYTES} bytes.",
        # What still comes is not read, so the connection cannot be used again.
        headers={"Connection": "close"},
    )
