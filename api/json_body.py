"""How much of a JSON body is read, and for how long."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

MAX_JSON_BODY_BYTES = 1_048_576
MAX_PUBLIC_JSON_BODY_BYTES = 16_384
"""Of callers without a credential: room for an address and a password, however they are escaped."""

BODY_SECONDS = 20.0
"""How long the body may take to come, however much trickles in."""

# What still comes is not read, so the connection cannot be used again. HTTPException, because it is
# the one kind of error that FastAPI lets through while it reads a body.
_CLOSE = {"Connection": "close"}


def with_limited_body(request: Request, most_bytes: int) -> Request:
    """Return the request, of whose body no more than ``most_bytes`` are read.

    Reading it raises HTTPException: 413 for one byte more, 408 for a body that does not come to
    its end in time.
    """
    read = 0
    until = asyncio.get_running_loop().time() + BODY_SECONDS

    async def receive() -> Message:
        nonlocal read
        try:
            async with asyncio.timeout_at(until):
                message = await request.receive()
        except TimeoutError as error:
            raise HTTPException(408, headers=_CLOSE) from error
        read += len(message.get("body", b""))
        if read > most_bytes:
            raise HTTPException(413, headers=_CLOSE)
        return message

    return Request(request.scope, receive)
