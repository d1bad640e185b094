"""Serves an application on a loopback port, for clients that need a real connection."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from api.middleware.connections import ConnectionLimits
from api.middleware.http_protocol import http_protocol
from tests.integration.api.application import Application
from tests.integration.api.waiting import until


@asynccontextmanager
async def served(
    application: Application,
    limits: ConnectionLimits | None = None,
    port: int = 0,
    listener: socket.socket | None = None,
) -> AsyncIterator[str]:
    """Serve on a loopback port (0: a free port) or a listening socket, and yield the URL."""
    config = uvicorn.Config(
        application.app,
        host="127.0.0.1",
        port=port,
        lifespan="off",
        log_config=None,
        http=http_protocol(limits or ConnectionLimits(0, 0)),
        ws="none",
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(None if listener is None else [listener]))

    async def started() -> bool:
        return server.started

    try:
        await until(started, seconds=10)
        host, port = server.servers[0].sockets[0].getsockname()
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        await serving
