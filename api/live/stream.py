"""Sends one reader the events of the stream, until it may not or cannot go on.

**Source:** HTML Living Standard, section 9.2 (Server-sent events).
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import structlog
from pydantic import Field
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from analytics_sql.recognitions import RecognitionRow
from api.errors import ApiError, ErrorCode, dependency_error
from api.live.recent import CursorExpiredError, ResumeTokens, StreamCursor, StreamPosition
from api.recognitions.schemas import RecognitionBody, recognition_body
from api.schemas import ResponseModel
from common.errors import TransientError
from common.timestamps import format_timestamp

log = structlog.get_logger()

Check = Callable[[], Awaitable[None]]
Wanted = Callable[[RecognitionRow], bool]

LOOK_SECONDS = 0.2
"""The pause between two checks that a stream may go on. With the time that a credential is cached
(:data:`api.security.lookup.CACHE_SECONDS`) a revoked key reads on for one second."""

_BATCH_SIZE = 100

_PUBLISHED_WITHIN_MS = 5 * 60_000
"""A recognition is published so long after its capture at most, unless the service was behind."""

RETRY_MS = 3_000
"""So long a client waits before it comes back."""
_SEND_SECONDS = 20.0
"""A reader that takes nothing for so long is left; its connection and its slot are free again."""


class StreamReset(ResponseModel):
    """Some recognitions were not sent; those captured from ``since`` on stand in the list."""

    since: str = Field(json_schema_extra={"format": "date-time"})


class StreamEnd(ResponseModel):
    """Why the stream ends, as in the body of an error."""

    error: str
    code: ErrorCode


def opening(event_id: str) -> bytes:
    """Return what begins a stream: how to come back, and the place to come back to."""
    return f"retry: {RETRY_MS}\nid: {event_id}\n: open\n\n".encode()


def recognition_event(event_id: str, body: RecognitionBody) -> bytes:
    """Return the event of a recognition; of no name, so that plain ``onmessage`` gets it."""
    return f"id: {event_id}\ndata: {body.model_dump_json()}\n\n".encode()


def heart_beat(event_id: str) -> bytes:
    """Return a sign of life. It is no event to a client, but moves on its place to come back to."""
    return f"id: {event_id}\n: beat\n\n".encode()


def reset_event(event_id: str, since_ms: int) -> bytes:
    """Return the event that tells of a gap, and from when on the list fills it."""
    body = StreamReset(since=format_timestamp(since_ms))
    return f"id: {event_id}\nevent: reset\ndata: {body.model_dump_json()}\n\n".encode()


def end_event(error: ApiError) -> bytes:
    """Return the last event of a stream that the caller may not read any more."""
    body = StreamEnd(error=str(error), code=error.code)
    return f"event: end\ndata: {body.model_dump_json()}\n\n".encode()


@dataclass(frozen=True)
class StreamContext:
    """The dependencies that all streams of a process share; ``is_ending``: all of them must end."""

    tokens: ResumeTokens
    heart_beat_seconds: float
    now_ms: Callable[[], int]
    is_ending: Callable[[], bool]


class ReaderStream:
    """The events for one reader."""

    def __init__(
        self, context: StreamContext, cursor: StreamCursor, wanted: Wanted, check: Check
    ) -> None:
        """``check`` raises ApiError once the reader may not read any more."""
        self._context = context
        self._cursor = cursor
        self._wanted = wanted
        self._check = check
        self._sent_at = time.monotonic()
        self._seen_ms = context.now_ms()

    async def events(self, position: StreamPosition | None) -> AsyncGenerator[bytes, None]:
        """Yield events: those from behind ``position`` if it is given, then new ones."""
        yield self._begin(position)
        with self._cursor.waking() as something_new:
            while not self._context.is_ending():
                something_new.clear()
                refusal = await self._refusal()
                if refusal is not None:
                    yield end_event(refusal)
                    return
                chunk = self._next() or self._heart_beat()
                if chunk:
                    self._sent_at = time.monotonic()
                    yield chunk
                elif self._cursor.is_idle:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LOOK_SECONDS):
                            await something_new.wait()

    async def _refusal(self) -> ApiError | None:
        try:
            await self._check()
        except ApiError as error:
            return error
        except TransientError as error:
            return dependency_error(error)
        return None

    def _begin(self, position: StreamPosition | None) -> bytes:
        if position is None:
            return opening(self._id(self._cursor.offsets))
        try:
            self._cursor.resume_from(position, self._context.now_ms())
        except CursorExpiredError:
            self._seen_ms = position.at_ms
            return opening(self._id(self._cursor.offsets)) + self._reset()
        return opening(self._id(self._cursor.offsets))

    def _next(self) -> bytes:
        """Return the next events; empty where there are none."""
        try:
            passed = self._cursor.next_batch(_BATCH_SIZE)
        except CursorExpiredError:
            return self._reset()
        if self._cursor.is_idle:
            self._seen_ms = self._context.now_ms()
        return b"".join(
            recognition_event(self._id(one.offsets), _body(one.recognition))
            for one in passed
            if self._wanted(one.recognition)
        )

    def _reset(self) -> bytes:
        """Go on with what comes from now on, and return the event that tells of the gap."""
        since_ms = max(0, self._seen_ms - _PUBLISHED_WITHIN_MS)
        self._cursor.skip_to_now()
        return reset_event(self._id(self._cursor.offsets), since_ms)

    def _heart_beat(self) -> bytes:
        if time.monotonic() - self._sent_at < self._context.heart_beat_seconds:
            return b""
        return heart_beat(self._id(self._cursor.offsets))

    def _id(self, offsets: dict[int, int]) -> str:
        return self._context.tokens.seal(StreamPosition(offsets, self._context.now_ms()))


def _body(recognition: RecognitionRow) -> RecognitionBody:
    return recognition_body(
        recognition, photo_url=recognition.photo_key, crop_url=recognition.crop_key
    )


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
                log.info("stream_reader_left", reason="stopped reading", seconds=_SEND_SECONDS)
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
