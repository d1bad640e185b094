"""The streams of new recognitions: opening them, how many there may be, ending them all."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from uuid import UUID

from api.errors import ApiError, ErrorCode, FieldFault
from api.live.filters import Wanted
from api.live.follower import Follower
from api.live.position import PositionSealer, StreamPosition
from api.live.recent import RecentRecognitions
from api.live.slots import StreamBounds, StreamSlots
from api.live.stream import Check, ReaderStream, StreamContext
from api.parts import Part, PartAwayError
from contracts.errors import TransientError


@dataclass(frozen=True)
class StreamRules:
    """Seconds between two signs of life, and how many streams may be open."""

    heart_beat_seconds: float
    bounds: StreamBounds


class LiveRecognitions:
    """Streams of new recognitions; every call names the owner it acts for."""

    def __init__(
        self,
        recent: RecentRecognitions,
        ping: Callable[[], Awaitable[None]],
        ready: Callable[[], Awaitable[None]],
        sealer: PositionSealer,
        rules: StreamRules,
        now_ms: Callable[[], int],
    ) -> None:
        """``ping`` raises while ``recent`` is not being fed.

        ``ready`` returns once ``recent`` knows what was erased, or raises PartAwayError.
        """
        self._recent = recent
        self._ping = ping
        self._ready = ready
        self._sealer = sealer
        self._slots = StreamSlots(rules.bounds)
        self._is_ending = False
        self._context = StreamContext(
            sealer, rules.heart_beat_seconds, now_ms, lambda: self._is_ending
        )

    @property
    def open_streams(self) -> int:
        """How many streams are open."""
        return self._slots.open

    def end_all(self) -> None:
        """End all streams within a moment; their readers come back to another process."""
        self._is_ending = True

    def slot(self, owner_id: UUID, credential_id: UUID) -> AbstractContextManager[None]:
        """Return a context in which one stream of the owner, with that credential, is open.

        Entering it raises ApiError (429) where too many are.
        """
        return self._slots.taken(owner_id, credential_id)

    async def open(
        self, owner_id: UUID, wanted: Wanted, last_event_id: str | None, check: Check
    ) -> AsyncGenerator[bytes, None]:
        """Return the events of a new stream, from behind ``last_event_id`` or from now on.

        ``check`` raises ApiError once the caller may not read any more.

        Raises:
            ApiError: 400, the id is none that a stream gave.
            PartAwayError: new recognitions can not be followed now, or it is not known yet what
                was erased of them.
        """
        position = self._position(last_event_id) if last_event_id else None
        await self._require_news()
        await self._ready()
        follower = Follower(self._recent, owner_id)
        return ReaderStream(self._context, follower, wanted, check).events(position)

    async def _require_news(self) -> None:
        try:
            await self._ping()
        except TransientError as error:
            raise PartAwayError(Part.BROKER) from error

    def _position(self, last_event_id: str) -> StreamPosition:
        position = self._sealer.open(last_event_id)
        if position is None:
            fault = FieldFault("Last-Event-ID", "is not an id that this stream gave")
            raise ApiError(
                ErrorCode.INVALID_CURSOR, f"{fault.path} {fault.message}.", fields=[fault]
            )
        return position
