"""Reads request bodies, JSON and images: how many bytes, and for how long."""

import asyncio
import mmap
from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from api.errors import ApiError, BodyRefusedError, ErrorCode

MAX_JSON_BODY_BYTES = 1_048_576
MAX_PUBLIC_JSON_BODY_BYTES = 16_384
"""Of callers without a credential: room for an address and a password, however they are escaped."""

JSON_BODY_SECONDS = 20.0
"""The time for the whole body, however much trickles in."""

MAX_TABLE_BYTES = 262_144
"""Of a CSV file: some ten thousand rows, ten times as many as a list has plates."""

MAX_IMAGE_BYTES = 10 * 1024 * 1024
"""10 MB of the interface, read as 10 MiB so that neither reading of it is refused."""

IMAGE_BODY_SECONDS = 60.0
"""The time for the whole body: 10 MB at 1.4 Mbit/s."""

STALL_SECONDS = 10.0
MIN_BYTES = 16 << 10
"""An image of which so much does not come within :data:`STALL_SECONDS` is waited for no longer."""

UNCOUNTED_BYTES = 64 << 10
"""A body of no more is not counted: the server takes in as much of any before it is asked for."""

_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")


@dataclass(frozen=True)
class BodyRule:
    """Bounds of a body: bytes in all, seconds in all, bytes in each so many seconds."""

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
    """Return the request, whose body is read within ``rule``.

    ``on_received`` is called with its size in bytes once it is read. Raises BodyRefusedError: 413
    for one byte more than may be, 400 for a body that comes too slowly.
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
    """Return the size of the request's body, before any of it is read.

    Where none is announced it is the largest that may be. Where that is little, 0.

    Raises:
        BodyRefusedError: 413.
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
        BodyRefusedError: 400, it does not arrive in full; or as the request's body is limited.
    """
    try:
        return await request.body()
    except ClientDisconnect as error:
        raise BodyRefusedError(ApiError(ErrorCode.INCOMPLETE_BODY)) from error


async def read_image_body(request: Request) -> bytes:
    """Return the body, once it is known to begin like a JPEG or PNG.

    Raises:
        ApiError: 400 where it is empty, begins like something else or does not come to its end.
        BodyRefusedError: as the request's body is bounded.
    """
    # The system gives pages as they are written to, and has all back in the end: growing buffers of
    # many images at once leave gaps on the heap, half as much again.
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
