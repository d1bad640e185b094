"""Serves an application on a port of loopback, for clients that need a real connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from api.middleware.connections import ConnectionLimits
from api.middleware.http_protocol import http_protocol
from tests.integration.api.application import Application
from tests.integration.api.waiting import until


@asynccontextmanager
async def served(
    application: Application, limits: ConnectionLimits | None = None, port: int = 0
) -> AsyncIterator[str]:
    """Serve the application on a port of loopback; 0: a free one."""
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
    serving = asyncio.create_task(server.serve())

    async def started() -> bool:
        return server.started

    try:
        await until(started, seconds=10)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await serving
