"""Opens, limits and ends the event streams of new recognitions."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from uuid import UUID

from api.adapters.clickhouse import ClickHouseStore
from api.errors import ApiError, Dependency, DependencyUnavailableError, ErrorCode, FieldFault
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.live.recent import RecentRecognitions, ResumeTokens, StreamCursor, StreamPosition
from api.live.stream import Check, ReaderStream, StreamContext, Wanted
from api.security.permissions import Principal
from common.errors import PlatestreamError, TransientError
from common.secrets import SecretBox

_RETRY_AFTER_SECONDS = 5


class ErasureSync:
    """Applies erasures to the recent recognitions in memory."""

    def __init__(self, store: ClickHouseStore, recent: RecentRecognitions) -> None:
        self._store = store
        self._recent = recent
        self._first = asyncio.Lock()

    async def ready(self) -> None:
        """Return once the process has read the list of erasures.

        A new process reads past recognitions, some of which may have been erased.

        Raises:
            DependencyUnavailableError: the list cannot be read.
        """
        async with self._first:
            if self._recent.knows_erasures:
                return
            try:
                await self.sweep()
            except PlatestreamError as error:
                # The table may also be missing, which the sweeps log.
                raise DependencyUnavailableError(Dependency.SEARCH) from error

    async def sweep(self) -> int:
        """Drop recognitions that were erased since the last call. Return the number dropped.

        Raises:
            PlatestreamError: ClickHouse is not responding, or has no list of erasures. Earlier
                erasures remain in effect.
        """
        return self._recent.apply_erasures(await self._store.erasures())


class StreamSlots:
    """Limits open streams.

    An account cannot hold more slots than remain free, so greedy accounts leave some slots free.
    """

    def __init__(self, limits: OwnerLimits, *, per_credential: int, in_all: int) -> None:
        self._per_credential = per_credential
        self._in_all = in_all
        self._limits = limits
        self._open: Counter[UUID] = Counter()
        self._of_owner: Counter[UUID] = Counter()

    @property
    def open(self) -> int:
        """Number of slots in use."""
        return self._open.total()

    @contextmanager
    def in_use(self, caller: Principal) -> Iterator[None]:
        """Hold a slot until the block ends.

        Raises:
            ApiError: 429, no slot is free.
        """
        self._require_free_slot(caller)
        owner_id, credential_id = caller.owner_id, caller.credential_id
        self._open[credential_id] += 1
        self._of_owner[owner_id] += 1
        try:
            yield
        finally:
            # Subtracting a Counter drops entries that reach zero.
            self._open -= Counter((credential_id,))
            self._of_owner -= Counter((owner_id,))

    def _require_free_slot(self, caller: Principal) -> None:
        owner_id, of_credential = caller.owner_id, self._open[caller.credential_id]
        wanted = self._of_owner[owner_id] + 1
        left = self._in_all - self.open - 1
        if of_credential >= self._per_credential or wanted > max(1, left) or left < 0:
            raise ApiError(ErrorCode.TOO_MANY_STREAMS, retry_after_seconds=_RETRY_AFTER_SECONDS)
        self._limits.require(OwnerLimit.STREAMS, owner_id, caller.limits, wanted)


class LiveRecognitions:
    """Opens and ends event streams of new recognitions."""

    def __init__(
        self,
        recent: RecentRecognitions,
        ping: Callable[[], Awaitable[None]],
        erasures: ErasureSync,
        slots: StreamSlots,
        box: SecretBox,
        now_ms: Callable[[], int],
        *,
        heart_beat_seconds: float,
    ) -> None:
        """``ping`` raises while ``recent`` is not updated. ``now_ms`` returns Unix ms."""
        self._recent = recent
        self._ping = ping
        self._erasures = erasures
        self._slots = slots
        self._is_ending = False
        self._tokens = ResumeTokens(box)
        self._context = StreamContext(
            self._tokens, heart_beat_seconds, now_ms, lambda: self._is_ending
        )

    @property
    def open_streams(self) -> int:
        """Number of open streams."""
        return self._slots.open

    def end_all(self) -> None:
        """End all streams. Clients reconnect to another process."""
        self._is_ending = True

    def slot(self, caller: Principal) -> AbstractContextManager[None]:
        """Return a context that counts one more stream of the caller.

        Entering the context raises ApiError (429) if too many streams are open.
        """
        return self._slots.in_use(caller)

    async def open(
        self, owner_id: UUID, wanted: Wanted, last_event_id: str | None, check: Check
    ) -> AsyncGenerator[bytes, None]:
        """Return the events of a new stream, after ``last_event_id`` or from now on.

        ``check`` raises ApiError once the caller has lost access.

        Raises:
            ApiError: 400, ``last_event_id`` is not an event ID of a stream.
            DependencyUnavailableError: new recognitions or the list of erasures cannot be read.
        """
        position = self._position(last_event_id) if last_event_id else None
        try:
            await self._ping()
        except TransientError as error:
            raise DependencyUnavailableError(Dependency.BROKER) from error
        await self._erasures.ready()
        cursor = StreamCursor(self._recent, owner_id)
        return ReaderStream(self._context, cursor, wanted, check).events(position)

    def _position(self, last_event_id: str) -> StreamPosition:
        position = self._tokens.open(last_event_id)
        if position is None:
            fault = FieldFault("Last-Event-ID", "is not an event ID of this stream")
            raise ApiError(
                ErrorCode.INVALID_CURSOR, f"{fault.path} {fault.message}.", fields=[fault]
            )
        return position
