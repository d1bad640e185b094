"""What goes to one reader of the stream, until it may not or cannot go on."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from analytics_sql.recognitions import ListedRecognition
from api.errors import ApiError, unavailable
from api.live import events
from api.live.filters import Wanted
from api.live.follower import Follower, LostPlaceError
from api.live.position import PositionSealer, StreamPosition
from api.recognitions.schemas import RecognitionBody, recognition_body
from contracts.errors import TransientError

Check = Callable[[], Awaitable[None]]

LOOK_SECONDS = 0.2
"""How often a stream looks whether it may go on. Together with how long a credential is believed
(:data:`api.accounts.cache.CACHE_SECONDS`) a revoked key reads on for a second at most."""

_MOST_AT_ONCE = 100

_PUBLISHED_WITHIN_MS = 5 * 60_000
"""A recognition is published so long after its capture at most, unless the service was behind."""


@dataclass(frozen=True)
class StreamContext:
    """What all streams of a process share; ``is_ending`` tells when all of them must end."""

    sealer: PositionSealer
    heart_beat_seconds: float
    now_ms: Callable[[], int]
    is_ending: Callable[[], bool]


class ReaderStream:
    """The events for one reader."""

    def __init__(
        self, context: StreamContext, follower: Follower, wanted: Wanted, check: Check
    ) -> None:
        """``check`` raises ApiError once the reader may not read any more."""
        self._context = context
        self._follower = follower
        self._wanted = wanted
        self._check = check
        self._told_at = time.monotonic()
        self._seen_ms = context.now_ms()

    async def events(self, position: StreamPosition | None) -> AsyncGenerator[bytes, None]:
        """Yield events: those from behind ``position`` if it is given, then new ones."""
        yield self._begin(position)
        with self._follower.waking() as something_new:
            while not self._context.is_ending():
                something_new.clear()
                refusal = await self._refusal()
                if refusal is not None:
                    yield events.end_event(refusal)
                    return
                chunk = self._next() or self._heart_beat()
                if chunk:
                    self._told_at = time.monotonic()
                    yield chunk
                elif self._follower.is_idle:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LOOK_SECONDS):
                            await something_new.wait()

    async def _refusal(self) -> ApiError | None:
        try:
            await self._check()
        except ApiError as error:
            return error
        except TransientError as error:
            return unavailable(error)
        return None

    def _begin(self, position: StreamPosition | None) -> bytes:
        if position is None:
            return events.opening(self._id(self._follower.offsets))
        try:
            self._follower.go_back_to(position, self._context.now_ms())
        except LostPlaceError:
            self._seen_ms = position.at_ms
            return events.opening(self._id(self._follower.offsets)) + self._reset()
        return events.opening(self._id(self._follower.offsets))

    def _next(self) -> bytes:
        """Return the next events; empty where there are none."""
        try:
            passed = self._follower.take(_MOST_AT_ONCE)
        except LostPlaceError:
            return self._reset()
        if self._follower.is_idle:
            self._seen_ms = self._context.now_ms()
        return b"".join(
            events.recognition_event(self._id(one.offsets), _body(one.recognition))
            for one in passed
            if self._wanted(one.recognition)
        )

    def _reset(self) -> bytes:
        """Go on with what comes from now on, and return the event that tells of the gap."""
        since_ms = max(0, self._seen_ms - _PUBLISHED_WITHIN_MS)
        self._follower.skip_to_now()
        return events.reset_event(self._id(self._follower.offsets), since_ms)

    def _heart_beat(self) -> bytes:
        if time.monotonic() - self._told_at < self._context.heart_beat_seconds:
            return b""
        return events.heart_beat(self._id(self._follower.offsets))

    def _id(self, offsets: dict[int, int]) -> str:
        return self._context.sealer.seal(StreamPosition(offsets, self._context.now_ms()))


def _body(recognition: ListedRecognition) -> RecognitionBody:
    return recognition_body(
        recognition, photo_url=recognition.photo_key, crop_url=recognition.crop_key
    )
