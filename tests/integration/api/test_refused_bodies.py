"""Callers that keep sending after their body was rejected."""

import asyncio
import json
import socket

import pytest

from api.middleware.bodies import MAX_IMAGE_BYTES
from tests.integration.api.application import Application
from tests.integration.api.serving import served

pytestmark = pytest.mark.integration

MIB = 1 << 20


async def test_a_client_that_keeps_sending_gets_the_reason_of_the_rejection(
    application: Application,
) -> None:
    async with served(application) as address:
        host, port = address.removeprefix("http://").split(":")
        said = await asyncio.to_thread(_send_all, host, int(port))

    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ")
    assert json.loads(body)["code"] == "body_too_large"


async def test_a_body_that_finds_no_room_is_refused_before_any_of_it_comes(
    application: Application,
) -> None:
    budget = application.services.body_budget
    async with served(application) as address:
        host, port = address.removeprefix("http://").split(":")
        with budget.for_address("192.0.2.1", 32 * MIB), budget.for_address("192.0.2.2", 32 * MIB):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(_head(MAX_IMAGE_BYTES))
            said = await reader.read()
            writer.close()

    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: 2\r\n" in head
    assert json.loads(body)["code"] == "service_busy"
    assert budget.held_bytes == 0


def _head(size: int) -> bytes:
    """Return the head of a demo call with an image of ``size`` bytes."""
    return (
        b"POST /api/demo HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n"
        b"Content-Length: %d\r\n\r\n" % size
    )


def _send_all(host: str, port: int) -> bytes:
    """Send the whole of a body that is too large, and return the whole response."""
    size = 2 * MAX_IMAGE_BYTES
    with socket.create_connection((host, port), timeout=60) as caller:
        caller.sendall(_head(size))
        caller.sendall(bytes(size))
        pieces = []
        while piece := caller.recv(1 << 16):
            pieces.append(piece)
    return b"".join(pieces)
