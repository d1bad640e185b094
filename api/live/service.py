"""Opens the streams of new recognitions, bounds how many there are, ends them all."""

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from uuid import UUID

from api.errors import ApiError, Dependency, DependencyUnavailableError, ErrorCode, FieldFault
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.live.cursor import ResumeTokens, StreamCursor, StreamPosition
from api.live.recent import RecentRecognitions
from api.live.schemas import Wanted
from api.live.stream import Check, ReaderStream, StreamContext
from api.live.topics import TopicCaches
from api.security.permissions import Principal
from api.settings import ApiSettings
from common.errors import TransientError
from common.secrets import SecretBox

_RETRY_AFTER_SECONDS = 5


@dataclass(frozen=True, kw_only=True)
class StreamBounds:
    """Bounds of the streams that are open: with one credential, and in all."""

    per_credential: int
    in_all: int


class StreamSlots:
    """Counts open streams.

    No owner has more than are still free: few who take all that they can leave room for others.
    """

    def __init__(self, bounds: StreamBounds, limits: OwnerLimits) -> None:
        self._bounds = bounds
        self._limits = limits
        self._open: Counter[UUID] = Counter()
        self._of_owner: Counter[UUID] = Counter()

    @property
    def open(self) -> int:
        """Slots that are taken."""
        return self._open.total()

    @contextmanager
    def taken(self, caller: Principal) -> Iterator[None]:
        """Hold a slot.

        Raises:
            ApiError: 429, there is none.
        """
        self._require_room(caller)
        owner_id, credential_id = caller.owner_id, caller.credential_id
        self._open[credential_id] += 1
        self._of_owner[owner_id] += 1
        try:
            yield
        finally:
            # What has come to nought is forgotten.
            self._open -= Counter((credential_id,))
            self._of_owner -= Counter((owner_id,))

    def _require_room(self, caller: Principal) -> None:
        bounds, owner_id = self._bounds, caller.owner_id
        of_credential = self._open[caller.credential_id]
        wanted = self._of_owner[owner_id] + 1
        left = bounds.in_all - self.open - 1
        if of_credential >= bounds.per_credential or wanted > max(1, left) or left < 0:
            raise ApiError(ErrorCode.TOO_MANY_STREAMS, retry_after_seconds=_RETRY_AFTER_SECONDS)
        self._limits.require(OwnerLimit.STREAMS, owner_id, caller.limits, wanted)


@dataclass(frozen=True)
class StreamRules:
    """Seconds between two signs of life, and how many streams may be open."""

    heart_beat_seconds: float
    bounds: StreamBounds


def stream_rules(settings: ApiSettings) -> StreamRules:
    """Return how many streams the operator lets be open, and how often they beat."""
    return StreamRules(
        heart_beat_seconds=settings.stream_heart_beat_seconds,
        bounds=StreamBounds(
            per_credential=settings.streams_per_key,
            in_all=settings.streams_per_process,
        ),
    )


class LiveRecognitions:
    """Streams of new recognitions; every call names the owner it acts for."""

    def __init__(
        self,
        recent: RecentRecognitions,
        ping: Callable[[], Awaitable[None]],
        ready: Callable[[], Awaitable[None]],
        tokens: ResumeTokens,
        rules: StreamRules,
        limits: OwnerLimits,
        now_ms: Callable[[], int],
    ) -> None:
        """``ping`` raises while ``recent`` is not being fed.

        ``ready`` returns once ``recent`` knows what was erased, or raises
        DependencyUnavailableError.
        """
        self._recent = recent
        self._ping = ping
        self._ready = ready
        self._tokens = tokens
        self._slots = StreamSlots(rules.bounds, limits)
        self._is_ending = False
        self._context = StreamContext(
            tokens, rules.heart_beat_seconds, now_ms, lambda: self._is_ending
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
        return self._slots.taken(caller)

    async def open(
        self, owner_id: UUID, wanted: Wanted, last_event_id: str | None, check: Check
    ) -> AsyncGenerator[bytes, None]:
        """Return the events of a new stream, from behind ``last_event_id`` or from now on.

        ``check`` raises ApiError once the caller may not read any more.

        Raises:
            ApiError: 400, the id is none that a stream gave. DependencyUnavailableError: new
            recognitions can not be followed now, or it is not known yet what
                was erased of them.
        """
        position = self._position(last_event_id) if last_event_id else None
        await self._require_news()
        await self._ready()
        cursor = StreamCursor(self._recent, owner_id)
        return ReaderStream(self._context, cursor, wanted, check).events(position)

    async def _require_news(self) -> None:
        try:
            await self._ping()
        except TransientError as error:
            raise DependencyUnavailableError(Dependency.BROKER) from error

    def _position(self, last_event_id: str) -> StreamPosition:
        position = self._tokens.open(last_event_id)
        if position is None:
            fault = FieldFault("Last-Event-ID", "is not an id of this stream")
            raise ApiError(
                ErrorCode.INVALID_CURSOR, f"{fault.path} {fault.message}.", fields=[fault]
            )
        return position


def live_recognitions(
    settings: ApiSettings,
    caches: TopicCaches,
    ready: Callable[[], Awaitable[None]],
    box: SecretBox,
    limits: OwnerLimits,
    now_ms: Callable[[], int],
) -> LiveRecognitions:
    """Return the streams over what is followed. ``now_ms`` is the wall clock, Unix ms."""
    tokens, rules = ResumeTokens(box), stream_rules(settings)
    return LiveRecognitions(caches.recent, caches.ping, ready, tokens, rules, limits, now_ms)
