"""Sends events to a client until the client loses access or the stream cannot continue.

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

CHECK_SECONDS = 0.2
"""Time between two access checks of a stream. Credentials are also cached
(:data:`api.security.lookup.CACHE_SECONDS`): a revoked key can read for at most one more second."""

_BATCH_SIZE = 100

_PUBLISHED_WITHIN_MS = 5 * 60_000
"""Maximum time from capture to publication, unless the service has a backlog."""

RETRY_MS = 3_000
"""Time that a client waits before it reconnects."""
_SEND_SECONDS = 20.0
"""Time without progress after which a stalled connection is closed and its slot released."""


class StreamReset(ResponseModel):
    """Some recognitions were not sent. The list has recognitions captured since ``since``."""

    since: str = Field(json_schema_extra={"format": "date-time"})


class StreamEnd(ResponseModel):
    """The reason for the end of the stream, in the form of an error body."""

    error: str
    code: ErrorCode


def opening(event_id: str) -> bytes:
    """Return the start of a stream: the reconnection time, and the position to resume from."""
    return f"retry: {RETRY_MS}\nid: {event_id}\n: open\n\n".encode()


def recognition_event(event_id: str, body: RecognitionBody) -> bytes:
    """Return the event of a recognition. The event has no name, so ``onmessage`` receives it."""
    return f"id: {event_id}\ndata: {body.model_dump_json()}\n\n".encode()


def heart_beat(event_id: str) -> bytes:
    """Return a heartbeat. Clients see no event, but update the ID from which they resume."""
    return f"id: {event_id}\n: beat\n\n".encode()


def reset_event(event_id: str, since_ms: int) -> bytes:
    """Return the event that reports a gap. The list has the recognitions since ``since_ms``."""
    body = StreamReset(since=format_timestamp(since_ms))
    return f"id: {event_id}\nevent: reset\ndata: {body.model_dump_json()}\n\n".encode()


def end_event(error: ApiError) -> bytes:
    """Return the last event of a stream to which the caller has lost access."""
    body = StreamEnd(error=str(error), code=error.code)
    return f"event: end\ndata: {body.model_dump_json()}\n\n".encode()


@dataclass(frozen=True)
class StreamContext:
    """Dependencies shared by all streams. Streams end once ``is_ending`` returns True."""

    tokens: ResumeTokens
    heart_beat_seconds: float
    now_ms: Callable[[], int]
    is_ending: Callable[[], bool]


class ReaderStream:
    """Creates the events for one client."""

    def __init__(
        self, context: StreamContext, cursor: StreamCursor, wanted: Wanted, check: Check
    ) -> None:
        """``check`` raises ApiError once the client has lost access."""
        self._context = context
        self._cursor = cursor
        self._wanted = wanted
        self._check = check
        self._sent_at = time.monotonic()
        self._seen_ms = context.now_ms()

    async def events(self, position: StreamPosition | None) -> AsyncGenerator[bytes, None]:
        """Yield the events after ``position``, if given, and then new events."""
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
                        async with asyncio.timeout(CHECK_SECONDS):
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
        """Return the next events, or nothing if there are none."""
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
        """Skip to new recognitions. Return the event that reports the gap."""
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
    """Sends events until the stream ends, or the client disconnects or stalls."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None], held: ExitStack) -> None:
        """``held`` contains the stream's resources and is closed when the stream ends."""
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all events."""
        sending = asyncio.create_task(self._send_all(send))
        disconnecting = asyncio.create_task(_until_disconnected(receive))
        try:
            await asyncio.wait((sending, disconnecting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, disconnecting):
                task.cancel()
            ended, _ = await asyncio.gather(sending, disconnecting, return_exceptions=True)
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
                log.info("event_stream_stalled", reason="stopped reading", seconds=_SEND_SECONDS)
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
