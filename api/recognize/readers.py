"""Recogniser processes of the API: started beside it, and shared fairly by who pays."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import structlog

from api.recognize.models import ImageReader
from common.errors import MisconfiguredError, TransientError
from recognition.settings import RecognizerPoolSettings
from recognition.workers.pool import ImageReadings, RecognizerBusyError, RecognizerPool

log = structlog.get_logger()

DEMO = None
"""The payer of demo calls, all of them together."""

_RETRY_SECONDS = 5.0
_DEMO_WAITING = 4
_SHORTEST_WAIT_SECONDS = 0.01
_Turn = asyncio.Future[None]


class RecognizerEngine:
    """A pool that may still be loading its models: until then images are refused, lists are not."""

    def __init__(self, settings: RecognizerPoolSettings) -> None:
        self._settings = settings
        self._pool: RecognizerPool | None = None
        self._fault = "the models are being loaded"
        self._starting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to load."""
        self._starting = asyncio.create_task(self._load())

    async def stop(self) -> None:
        """End all processes."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._pool is not None:
            await self._pool.stop()

    async def read_image(self, data: bytes, *, wait_seconds: float) -> ImageReadings:
        """Return the plates of a JPEG or PNG file (see ``RecognizerPool.read_image``)."""
        if self._pool is None:
            raise RecognizerBusyError(self._fault)
        return await self._pool.read_image(data, wait_seconds=wait_seconds)

    async def ping(self) -> None:
        """Return when images can be read.

        Raises:
            TransientError: not yet, or no process is well.
        """
        if self._pool is None:
            raise TransientError(self._fault)
        if not self._pool.pids:
            raise TransientError("no recogniser process is ready")

    async def _load(self) -> None:
        while self._pool is None:
            pool = RecognizerPool(self._settings)
            try:
                await pool.start()
                self._pool = pool
                log.info("recognizer_ready", processes=pool.size)
            except (MisconfiguredError, TransientError) as error:
                self._fault = str(error)
                log.exception("recognizer_not_started")
                await asyncio.sleep(_RETRY_SECONDS)


@dataclass(frozen=True)
class FairShares:
    """Images that are with the processes at once, those that may wait, and for how long."""

    at_once: int
    waiting: int
    wait_seconds: float

    @property
    def demo_at_once(self) -> int:
        """Images of the demo that are with the processes at once."""
        return max(1, self.at_once // 4)


def fair_shares(settings: RecognizerPoolSettings) -> FairShares:
    """Return the shares for a pool: each process has a batch in hand and the next one ready."""
    return FairShares(
        at_once=2 * settings.batch_size * settings.worker_count,
        waiting=settings.recognition_queue_limit,
        wait_seconds=settings.recognition_timeout_seconds,
    )


class FairReader:
    """Reads images by a reader that reads so many at once; more wait, each payer's in order.

    The payer whose turn is longest ago comes next. So who sends a hundred images at once waits for
    them, and who sends one waits for one of each other payer.
    """

    def __init__(self, reader: ImageReader, shares: FairShares) -> None:
        self._reader = reader
        self._shares = shares
        self._waiting: OrderedDict[UUID | None, deque[_Turn]] = OrderedDict()
        self._in_hand = 0
        self._demos_in_hand = 0

    @property
    def waiting(self) -> int:
        """Images that wait for their turn."""
        return sum(map(len, self._waiting.values()))

    async def read_image(self, data: bytes, payer: UUID | None) -> ImageReadings:
        """Return the plates of a JPEG or PNG file (see ``RecognizerPool.read_image``).

        ``payer`` is the owner, or :data:`DEMO`.

        Raises:
            RecognizerBusyError: too many wait, or its turn did not come in time.
        """
        until = time.monotonic() + self._shares.wait_seconds
        async with self._turn(payer, until):
            left = max(until - time.monotonic(), _SHORTEST_WAIT_SECONDS)
            return await self._reader.read_image(data, wait_seconds=left)

    @asynccontextmanager
    async def _turn(self, payer: UUID | None, until: float) -> AsyncIterator[None]:
        if self.waiting or not self._has_room(payer):
            await self._wait(payer, until)
        else:
            self._begin(payer)
        try:
            yield
        finally:
            self._end(payer)

    async def _wait(self, payer: UUID | None, until: float) -> None:
        """Return once it is the payer's turn, which has begun then."""
        self._make_room(payer)
        turn: _Turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(payer, deque()).append(turn)
        # Only the demo may be waiting, for its own bound.
        self._give_turns()
        try:
            async with asyncio.timeout(until - time.monotonic()):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                # Its turn came with what ended the wait.
                self._end(payer)
            else:
                self._forget(payer, turn)
            if isinstance(error, TimeoutError):
                busy = "no recogniser process became free in time"
                raise RecognizerBusyError(busy) from error
            raise

    def _make_room(self, payer: UUID | None) -> None:
        """Refuse one more that waits, or the last of a payer of whom more wait."""
        full = RecognizerBusyError("too many images wait for a recogniser process")
        of_payer = len(self._waiting.get(payer, ()))
        if payer is DEMO and of_payer >= _DEMO_WAITING:
            raise full
        if self.waiting < self._shares.waiting:
            return
        most = max(self._waiting.values(), key=len)
        if len(most) <= of_payer + 1:
            raise full
        evicted = most.pop()
        if not evicted.done():
            evicted.set_exception(full)

    def _has_room(self, payer: UUID | None) -> bool:
        if payer is DEMO and self._demos_in_hand >= self._shares.demo_at_once:
            return False
        return self._in_hand < self._shares.at_once

    def _begin(self, payer: UUID | None) -> None:
        self._in_hand += 1
        self._demos_in_hand += payer is DEMO

    def _end(self, payer: UUID | None) -> None:
        self._in_hand -= 1
        self._demos_in_hand -= payer is DEMO
        self._give_turns()

    def _give_turns(self) -> None:
        for payer in list(self._waiting):
            if not self._has_room(payer):
                continue
            # One that was given up may not have been forgotten yet.
            turns = deque(turn for turn in self._waiting.pop(payer) if not turn.done())
            if turns:
                self._begin(payer)
                turns.popleft().set_result(None)
            if turns:
                # Behind all others that wait.
                self._waiting[payer] = turns

    def _forget(self, payer: UUID | None, turn: _Turn) -> None:
        turns = self._waiting.get(payer, deque())
        if turn in turns:
            turns.remove(turn)
        if not turns:
            self._waiting.pop(payer, None)
