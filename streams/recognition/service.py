"""What must run before the stage's agents do, and end after them."""

from typing import Any

import structlog
from mode import Service

from contracts.errors import MisconfiguredError
from contracts.exit_statuses import EXIT_MISCONFIGURED
from recognition.pool import RecognizerPool
from streams.common.ending import end_process
from streams.recognition.ordered_window import OrderedWindow

log = structlog.get_logger()


class Recognizers(Service):
    """The recogniser processes, for as long as the app runs."""

    def __init__(self, pool: RecognizerPool, window: OrderedWindow, **options: Any) -> None:
        """Take what is to be started and ended."""
        super().__init__(**options)
        self._pool = pool
        self._window = window

    async def on_start(self) -> None:
        """Load the models; a worker without them must not take partitions."""
        try:
            await self._pool.start()
        except MisconfiguredError as error:
            log.error("recogniser_misconfigured", error=str(error))
            end_process(EXIT_MISCONFIGURED)

    async def on_stop(self) -> None:
        """End the processes; what they were at is read again."""
        await self._window.close()
        await self._pool.stop()
