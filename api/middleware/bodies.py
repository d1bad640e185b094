"""Reads request bodies (JSON, images and CSV files), with limits on size and time."""

import asyncio
import mmap
from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from api.errors import ApiError, BodyRefusedError, ErrorCode

MAX_JSON_BODY_BYTES = 1_048_576
MAX_PUBLIC_JSON_BODY_BYTES = 16_384
"""Limit for callers without a credential. An email address and password fit, however escaped."""

JSON_BODY_SECONDS = 20.0
"""Time limit for the whole body."""

MAX_TABLE_BYTES = 262_144
"""Maximum size of a CSV file: about 10,000 rows, ten times the plates that a list can have."""

MAX_IMAGE_BYTES = 10 * 1024 * 1024
"""Maximum size of an image."""

IMAGE_BODY_SECONDS = 60.0
"""Time limit for the whole body: 10 MiB at 1.4 Mbit/s."""

STALL_SECONDS = 10.0
MIN_BYTES = 16 << 10
"""An image upload is rejected if fewer bytes arrive within :data:`STALL_SECONDS`."""

UNCOUNTED_BYTES = 64 << 10
"""Bodies up to this size are not counted: the server buffers that much of any body anyway."""

_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")


@dataclass(frozen=True)
class BodyRule:
    """Limits of a body: size, total time, and minimum bytes per :data:`STALL_SECONDS`."""

    max_bytes: int
    seconds: float
    min_bytes: int = 0
    too_large: str | None = None


JSON_RULE = BodyRule(MAX_JSON_BODY_BYTES, JSON_BODY_SECONDS)
PUBLIC_JSON_RULE = BodyRule(MAX_PUBLIC_JSON_BODY_BYTES, JSON_BODY_SECONDS)
IMAGE_RULE = BodyRule(
    MAX_IMAGE_BYTES, IMAGE_BODY_SECONDS, MIN_BYTES, f"The image exceeds {MAX_IMAGE_BYTES} bytes."
)
TABLE_RULE = BodyRule(
    MAX_TABLE_BYTES,
    JSON_BODY_SECONDS,
    too_large=f"The file is larger than {MAX_TABLE_BYTES} bytes.",
)


def limit_body(request: Request, rule: BodyRule, on_received: Callable[[int], None]) -> Request:
    """Return the request with ``rule`` enforced while its body is read.

    ``on_received`` is called with the size in bytes after the body was read. Reading raises
    BodyRefusedError: 413 if the body is too large, 400 if it arrives too slowly.
    """
    loop = asyncio.get_running_loop()
    read, in_window = 0, 0
    until = loop.time() + rule.seconds
    window_ends = loop.time() + STALL_SECONDS if rule.min_bytes else until

    async def receive() -> Message:
        nonlocal read, in_window, window_ends
        try:
            async with asyncio.timeout_at(min(until, window_ends)):
                message = await request.receive()
        except TimeoutError as error:
            raise BodyRefusedError(ApiError(ErrorCode.INCOMPLETE_BODY)) from error
        count = len(message.get("body", b""))
        read, in_window = read + count, in_window + count
        if read > rule.max_bytes:
            raise _too_large(rule)
        if rule.min_bytes and in_window >= rule.min_bytes:
            in_window, window_ends = 0, loop.time() + STALL_SECONDS
        if not message.get("more_body", False):
            on_received(read)
        return message

    return Request(request.scope, receive)


def declared_body_size(request: Request, rule: BodyRule) -> int:
    """Return the declared size of the request's body.

    A chunked body counts as the maximum size, and a size up to :data:`UNCOUNTED_BYTES` as 0.

    Raises:
        BodyRefusedError: 413, the body is too large.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdecimal():
        size = int(announced)
    else:
        size = rule.max_bytes if "transfer-encoding" in request.headers else 0
    if size > rule.max_bytes:
        raise _too_large(rule)
    return size if size > UNCOUNTED_BYTES else 0


async def read_body(request: Request) -> bytes:
    """Return the body.

    Raises:
        BodyRefusedError: 400, the body is incomplete, or a limit of :func:`limit_body` is exceeded.
    """
    try:
        return await request.body()
    except ClientDisconnect as error:
        raise BodyRefusedError(ApiError(ErrorCode.INCOMPLETE_BODY)) from error


async def read_image_body(request: Request) -> bytes:
    """Return the body after checking that it starts like a JPEG or PNG.

    Raises:
        ApiError: 400, the body is empty or is not a JPEG or PNG.
        BodyRefusedError: 400, the body is incomplete, or a limit of :func:`limit_body` is exceeded.
    """
    # The system allocates pages when they are written, and frees all pages at the end. Growing
    # buffers of many concurrent images would fragment the heap and take 50 % more memory.
    with mmap.mmap(-1, MAX_IMAGE_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
        try:
            async for chunk in request.stream():
                pages.write(chunk)
        except ClientDisconnect as error:
            raise BodyRefusedError(ApiError(ErrorCode.INCOMPLETE_BODY)) from error
        data = pages[: pages.tell()]
    if not data:
        raise ApiError(ErrorCode.EMPTY_IMAGE)
    if not data.startswith(_MAGIC):
        raise ApiError(ErrorCode.UNSUPPORTED_IMAGE)
    return data


def _too_large(rule: BodyRule) -> BodyRefusedError:
    return BodyRefusedError(ApiError(ErrorCode.BODY_TOO_LARGE, rule.too_large))
