"""What must run before the stage's agents do, and end after them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from mode import Service

from contracts.topic_feed import TopicFeed
from streams.webhooks.dispatcher import Dispatcher


class DeliveryService(Service):
    """The feeds of configuration and the dispatcher, for as long as the app runs."""

    def __init__(
        self,
        feeds: Sequence[TopicFeed[Any]],
        dispatcher: Dispatcher,
        close: Callable[[], Awaitable[None]],
        **options: Any,
    ) -> None:
        """Take what is to be started and ended; ``close`` lets go of the senders."""
        super().__init__(**options)
        self._feeds = feeds
        self._dispatcher = dispatcher
        self._close = close
        self._running: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        """Read all configuration: an event must not be told to nobody for want of it."""
        for feed in self._feeds:
            feed.start()
        for feed in self._feeds:
            await feed.wait_until_caught_up()
        self._running = asyncio.create_task(self._dispatcher.run())

    async def on_stop(self) -> None:
        """Give up what is under way; it is tried again."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
        await self._dispatcher.stop()
        await self._close()
        for feed in self._feeds:
            await asyncio.to_thread(feed.stop)
