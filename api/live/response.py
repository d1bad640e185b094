"""The answer that does not end: events as they come, to a reader that takes them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import ExitStack

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

log = structlog.get_logger()

_SEND_SECONDS = 20.0
"""A reader that takes nothing for so long is left; its connection and its slot are free again."""


class EventStream(Response):
    """Sends events until they end, the reader leaves, or it takes nothing any more."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None], held: ExitStack) -> None:
        """``held`` is what the stream holds as long as it lasts; it is closed in the end."""
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all events."""
        sending = asyncio.create_task(self._send_all(send))
        leaving = asyncio.create_task(_until_left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            ended, _ = await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._events.aclose()
            self._held.close()
        if isinstance(ended, Exception):
            raise ended

    async def _send_all(self, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        async for chunk in self._events:
            try:
                async with asyncio.timeout(_SEND_SECONDS):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            except TimeoutError:
                log.info("stream_reader_left", reason="took nothing", seconds=_SEND_SECONDS)
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
