"""Starts the API's inference workers in the background and schedules image calls fairly."""

import asyncio
import time
from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol
from uuid import UUID

import structlog

from api.limits.fair_queue import FairQueue, QueueFullError, QueueLimits, current_caller
from common.errors import MisconfiguredError, TransientError
from recognition.settings import RecognizerPoolSettings
from recognition.workers.pool import (
    QUEUE_LIMIT,
    TIMEOUT_SECONDS,
    RecognizerBusyError,
    RecognizerPool,
)
from recognition.workers.protocol import ImageReadings

log = structlog.get_logger()

DEMO = None
"""The payer of all demo calls."""

_RETRY_SECONDS = 5.0
_DEMO_WAITING = 4
_SHORTEST_WAIT_SECONDS = 0.01


class RecognizerEngine:
    """An inference worker pool that starts in the background and rejects images until ready."""

    def __init__(self, settings: RecognizerPoolSettings) -> None:
        self._settings = settings
        self._pool: RecognizerPool | None = None
        self._fault = "the models are still loading"
        self._starting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start loading the models."""
        self._starting = asyncio.create_task(self._load())

    async def stop(self) -> None:
        """Stop all workers."""
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
        """Check that images can be read.

        Raises:
            TransientError: the models are not loaded, or no worker is ready.
        """
        if self._pool is None:
            raise TransientError(self._fault)
        if not self._pool.pids:
            raise TransientError("no inference worker is ready")

    async def _load(self) -> None:
        while self._pool is None:
            pool = RecognizerPool(self._settings)
            try:
                await pool.start()
                self._pool = pool
                log.info("recognizer_ready", processes=pool.size)
            except (MisconfiguredError, TransientError) as error:
                self._fault = str(error)
                log.exception("recognizer_load_failed")
                await asyncio.sleep(_RETRY_SECONDS)


class ImageReader(Protocol):
    """Reads the plates of an image. Implemented by the pool and by the engine."""

    async def read_image(self, data: bytes, *, wait_seconds: float) -> ImageReadings:
        """Return the plates of a JPEG or PNG file after waiting at most ``wait_seconds``."""


def fair_reader(reader: ImageReader, settings: RecognizerPoolSettings) -> "FairReader":
    """Return a reader that gives each worker of a pool one running batch and one waiting batch."""
    return FairReader(
        reader,
        at_once=2 * settings.batch_size * settings.worker_count,
        waiting=QUEUE_LIMIT,
        wait_seconds=TIMEOUT_SECONDS,
    )


class FairReader:
    """Schedules image calls fairly among payers.

    Demo calls are scheduled fairly among client networks, and together count as one payer.
    """

    def __init__(
        self, reader: ImageReader, *, at_once: int, waiting: int, wait_seconds: float
    ) -> None:
        """Run at most ``at_once`` reads, and queue ``waiting`` more for up to ``wait_seconds``."""
        self._reader = reader
        self._wait_seconds = wait_seconds
        self._queue = FairQueue[UUID | None](QueueLimits(at_once, waiting))
        self._demo_queue = FairQueue[Hashable](QueueLimits(max(1, at_once // 4), _DEMO_WAITING))

    @property
    def waiting(self) -> int:
        """Number of images in the queue. Demo calls waiting in the demo queue are not counted."""
        return self._queue.waiting

    async def read_image(self, data: bytes, payer: UUID | None) -> ImageReadings:
        """Return the plates of a JPEG or PNG file (see ``RecognizerPool.read_image``).

        ``payer`` is the account, or :data:`DEMO`.

        Raises:
            RecognizerBusyError: too many images are waiting, or the wait was too long.
        """
        until = time.monotonic() + self._wait_seconds
        try:
            async with self._demo_slot(payer), self._queue.slot(payer, _left(until)):
                return await self._reader.read_image(data, wait_seconds=_left(until))
        except QueueFullError as error:
            raise RecognizerBusyError(f"no inference worker is available: {error}") from error

    def _demo_slot(self, payer: UUID | None) -> AbstractAsyncContextManager[None]:
        if payer is not DEMO:
            return nullcontext()
        return self._demo_queue.slot(current_caller(), self._wait_seconds)


def _left(until: float) -> float:
    return max(until - time.monotonic(), _SHORTEST_WAIT_SECONDS)
