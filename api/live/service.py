"""Opens the streams of new recognitions, bounds how many there are, ends them all."""

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
    """Applies erasures to this process's memory of new recognitions."""

    def __init__(self, store: ClickHouseStore, recent: RecentRecognitions) -> None:
        self._store = store
        self._recent = recent
        self._first = asyncio.Lock()

    async def ready(self) -> None:
        """Return once the list of erasures has been read since the process began.

        A new process reads recognitions again that may have been erased meanwhile.

        Raises:
            DependencyUnavailableError: it cannot be read.
        """
        async with self._first:
            if self._recent.knows_erasures:
                return
            try:
                await self.sweep()
            except PlatestreamError as error:
                # Also where the table is not there yet; the log of the sweeps says so.
                raise DependencyUnavailableError(Dependency.SEARCH) from error

    async def sweep(self) -> int:
        """Forget what was erased since the last time, and return how many recognitions.

        Raises:
            PlatestreamError: ClickHouse does not answer, or has no such list; what was erased
                before stays forgotten.
        """
        return self._recent.apply_erasures(await self._store.erasures())


class StreamSlots:
    """Counts open streams.

    No owner has more than are still free: few who take all that they can leave room for others.
    """

    def __init__(self, limits: OwnerLimits, *, per_credential: int, in_all: int) -> None:
        self._per_credential = per_credential
        self._in_all = in_all
        self._limits = limits
        self._open: Counter[UUID] = Counter()
        self._of_owner: Counter[UUID] = Counter()

    @property
    def open(self) -> int:
        """Slots that are taken."""
        return self._open.total()

    @contextmanager
    def in_use(self, caller: Principal) -> Iterator[None]:
        """Hold a slot.

        Raises:
            ApiError: 429, there is none.
        """
        self._require_free_slot(caller)
        owner_id, credential_id = caller.owner_id, caller.credential_id
        self._open[credential_id] += 1
        self._of_owner[owner_id] += 1
        try:
            yield
        finally:
            # What has come to nought is forgotten.
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
    """Streams of new recognitions; every call names the owner it acts for."""

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
        """``ping`` raises while ``recent`` is not being fed; ``now_ms`` is the wall clock."""
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
        """Streams that are open."""
        return self._slots.open

    def end_all(self) -> None:
        """End all streams within a moment; their readers come back to another process."""
        self._is_ending = True

    def slot(self, caller: Principal) -> AbstractContextManager[None]:
        """Return a context in which one more stream of the caller is open.

        Entering it raises ApiError (429) where too many are.
        """
        return self._slots.in_use(caller)

    async def open(
        self, owner_id: UUID, wanted: Wanted, last_event_id: str | None, check: Check
    ) -> AsyncGenerator[bytes, None]:
        """Return the events of a new stream, from behind ``last_event_id`` or from now on.

        ``check`` raises ApiError once the caller may not read any more.

        Raises:
            ApiError: 400, the id is none that a stream gave.
            DependencyUnavailableError: new recognitions cannot be followed now, or it is not known
                yet what was erased of them.
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
