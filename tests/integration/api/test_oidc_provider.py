"""A provider with invalid responses causes neither internal errors nor endless requests."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from msgspec.structs import replace

from api.errors import ApiError, DependencyUnavailableError, ErrorCode
from api.oidc.flow import new_flow
from api.oidc.provider import Description, IdentityProvider, check_description
from api.oidc_settings import OidcSettings

pytestmark = pytest.mark.integration

_JSON = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@asynccontextmanager
async def _provider(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter, int], Awaitable[None]],
) -> AsyncIterator[IdentityProvider]:
    """Yield a provider whose server handles each connection with ``serve``, which gets the port."""
    server = await asyncio.start_server(
        lambda reader, writer: serve(reader, writer, port), "127.0.0.1", 0
    )
    port = server.sockets[0].getsockname()[1]
    settings = OidcSettings.model_validate(
        {"oidc_issuer": f"http://127.0.0.1:{port}", "oidc_client_id": "platestream"}
    )
    provider = IdentityProvider(settings, "http://127.0.0.1:8000/log-in/oidc")
    try:
        yield provider
    finally:
        server.close()


async def _sent_and_closed(writer: asyncio.StreamWriter, answer: bytes) -> None:
    writer.write(answer)
    with suppress(ConnectionError):
        await writer.drain()
        writer.close()
        await writer.wait_closed()


def _body(text: str) -> bytes:
    return f"{_JSON}Content-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda port: b"", "is not responding"),
        (lambda port: b"SSH-2.0-OpenSSH\r\n", "is not responding"),
        (lambda port: _body("<html>"), "returned an invalid response"),
        (lambda port: _body("[]"), "returned an invalid response"),
        (lambda port: _body('{"issuer": 1}'), "returned an invalid response"),
        (lambda port: f"{_JSON}\r\n{'x' * 300_000}".encode(), "returned an invalid response"),
        (
            lambda port: (
                f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}/x\r\n"
                "Content-Length: 0\r\n\r\n"
            ).encode(),
            "returned an error",
        ),
        (lambda port: b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n", "returned an error"),
    ],
    ids=["nothing", "no-http", "html", "list", "numbers", "endless", "redirect", "error"],
)
async def test_an_invalid_answer_is_reported(answer: Callable[[int], bytes], sentence: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await _sent_and_closed(writer, answer(port))

    async with _provider(serve) as provider:
        with pytest.raises(DependencyUnavailableError) as raised:
            await provider.authorization_url(new_flow(None))

    assert raised.value.sentence == f"The identity provider {sentence}. Try again later."


async def test_a_code_is_not_posted_on_a_connection_that_may_be_closed() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        """Respond to one request per connection, and drop the connection at the next request."""
        head = await reader.readuntil(b"\r\n\r\n")
        issuer = f"http://127.0.0.1:{port}"
        status, answer = "200 OK", {"issuer": issuer, "jwks_uri": f"{issuer}/k"}
        answer |= {"authorization_endpoint": f"{issuer}/a", "token_endpoint": f"{issuer}/t"}
        if head.startswith(b"POST"):
            status, answer = "400 Bad Request", {"error": "invalid_grant"}
        text = json.dumps(answer)
        fields = f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        writer.write(f"HTTP/1.1 {status}\r\n{fields}{text}".encode())
        await writer.drain()
        await reader.read(1)
        await _sent_and_closed(writer, b"")

    async with _provider(serve) as provider:
        await provider.authorization_url(new_flow(None))
        with pytest.raises(ApiError) as raised:
            await provider.identity(new_flow(None), "a code")

    assert raised.value.code is ErrorCode.LOG_IN_REFUSED


def test_a_provider_over_tls_names_no_address_without_and_itself_as_it_is_set() -> None:
    issuer = "https://login.example.com"
    good = Description(issuer, f"{issuer}/a", f"{issuer}/t", f"{issuer}/k")
    check_description(good, issuer)
    bad = "http://login.example.com/x"
    for other in (
        replace(good, issuer="https://another.example"),
        replace(good, token_endpoint=bad),
        replace(good, jwks_uri=bad),
        replace(good, userinfo_endpoint=bad),
    ):
        with pytest.raises(DependencyUnavailableError):
            check_description(other, issuer)
