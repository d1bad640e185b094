"""What must run beside the stage's agents."""

import asyncio
from contextlib import suppress
from typing import Any

from mode import Service

from streams.mqtt.link import BrokerLink


class LinkService(Service):
    """The link to the broker, for as long as the app runs."""

    def __init__(self, link: BrokerLink, **options: Any) -> None:
        """Take what is to be run."""
        super().__init__(**options)
        self._link = link
        self._running: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        """Begin to connect; agents wait until that went well."""
        self._running = asyncio.create_task(self._link.run())

    async def on_stop(self) -> None:
        """Say good-bye to the broker."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
