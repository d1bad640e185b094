"""The pool of recogniser processes, started beside the API rather than before it."""

import asyncio

import structlog

from common.errors import MisconfiguredError, TransientError
from recognition.settings import RecognizerPoolSettings
from recognition.workers.pool import ImageReadings, RecognizerBusyError, RecognizerPool

log = structlog.get_logger()

_RETRY_SECONDS = 5.0


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
