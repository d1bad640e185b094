"""Callers that send on while their body is refused."""

import asyncio
import json
import socket

import pytest

from api.middleware.bodies import MAX_IMAGE_BYTES
from tests.integration.api.application import Application
from tests.integration.api.serving import served

pytestmark = pytest.mark.integration


async def test_who_sends_on_is_told_why_its_body_is_refused(application: Application) -> None:
    async with served(application) as address:
        host, port = address.removeprefix("http://").split(":")
        said = await asyncio.to_thread(_send_all, host, int(port))

    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ")
    assert json.loads(body)["code"] == "body_too_large"


def _send_all(host: str, port: int) -> bytes:
    """Send a body that is too large to its end, then return the whole answer."""
    size = 2 * MAX_IMAGE_BYTES
    with socket.create_connection((host, port), timeout=60) as caller:
        caller.sendall(
            b"POST /api/demo HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n"
            b"Content-Length: %d\r\n\r\n" % size
        )
        caller.sendall(bytes(size))
        pieces = []
        while piece := caller.recv(1 << 16):
            pieces.append(piece)
    return b"".join(pieces)
