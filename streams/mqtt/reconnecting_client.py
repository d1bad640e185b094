"""Provides an MQTT client that reconnects automatically and lets callers wait for a connection."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import structlog
from cachetools import LRUCache

from common.errors import TransientError
from common.retry import RetryPolicy
from streams.mqtt.broker import Connection, RefusedMessageError
from streams.mqtt.messages import Message
from streams.mqtt.metrics import MqttMetrics

log = structlog.get_logger()

# A longer wait would delay a stop or a rebalance. The stage runner retries anyway.
_WAIT_SECONDS = 2.0
_STEADY_SECONDS = 10.0
_REMEMBERED = 10_000


Publish = Callable[[Sequence[Message]], Awaitable[None]]
Announce = Callable[[Publish], Awaitable[None]]
"""Publishes all retained messages to a broker that may have lost its data."""


class ReconnectingClient:
    """Stays connected while :meth:`run` is running, with growing pauses between attempts."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        metrics: MqttMetrics,
        *,
        retry: RetryPolicy,
    ) -> None:
        """The attribute ``announce`` can be set at any time."""
        self._connect = connect
        self._metrics = metrics
        self._retry = retry
        self._connection: Connection | None = None
        self._is_up = asyncio.Event()
        self._announcement_due = asyncio.Event()
        self._acknowledged: LRUCache[int, None] = LRUCache(_REMEMBERED)
        self._is_unavailable = False
        self.announce: Announce | None = None

    async def run(self) -> None:
        """Connect, and reconnect whenever the connection ends, until the task is cancelled."""
        failures = 0
        while True:
            opened_at = time.monotonic()
            try:
                await self._run_connection(await self._connect())
            except TransientError as error:
                self._on_unavailable(error)
            except Exception:
                # Catch-all: if this task ended, no messages would ever be sent again.
                log.exception("mqtt_connection_failed")
            if time.monotonic() - opened_at > _STEADY_SECONDS:
                failures = 0
            failures += 1
            await asyncio.sleep(self._retry.pause_seconds(failures))

    async def publish(self, messages: Sequence[Message]) -> None:
        """Publish messages; return once the broker has acknowledged all of them.

        If a batch is repeated, events that the broker has already acknowledged are not sent again.

        Raises:
            TransientError: the broker is unavailable, or rejected a message.
        """
        connection = await self._wait_for_connection()
        fresh = [message for message in messages if hash(message) not in self._acknowledged]
        await self._send(connection, fresh)

    def announce_again(self) -> None:
        """Publish the retained messages again soon, because they have changed."""
        self._announcement_due.set()

    async def _run_connection(self, connection: Connection) -> None:
        try:
            await self._announce(connection)
            self._on_connected(connection)
            await self._until_ended(connection)
            raise TransientError("the connection to the MQTT broker was closed")
        except asyncio.CancelledError:
            await connection.leave()
            raise
        finally:
            self._on_disconnected()
            await connection.close()

    async def _announce(self, connection: Connection) -> None:
        self._announcement_due.clear()
        await connection.report_online()
        if self.announce is not None:
            await self.announce(lambda messages: self._send(connection, messages))

    async def _until_ended(self, connection: Connection) -> None:
        ended = asyncio.ensure_future(connection.wait_until_ended())
        try:
            while not ended.done():
                renewal = asyncio.ensure_future(self._announcement_due.wait())
                await asyncio.wait({ended, renewal}, return_when=asyncio.FIRST_COMPLETED)
                renewal.cancel()
                if self._announcement_due.is_set() and not ended.done():
                    await self._announce(connection)
        finally:
            ended.cancel()

    async def _wait_for_connection(self) -> Connection:
        with suppress(TimeoutError):
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._is_up.wait()
        if self._connection is None:
            raise TransientError("the MQTT broker is unavailable")
        return self._connection

    async def _send(self, connection: Connection, messages: Sequence[Message]) -> None:
        try:
            await connection.send(messages, self._on_acknowledged)
        except RefusedMessageError:
            self._metrics.refused.inc()
            raise

    def _on_acknowledged(self, message: Message) -> None:
        self._metrics.messages.labels(message.kind.value).inc()
        if message.retain:
            # The same retained message may have to be published again later.
            return
        self._acknowledged[hash(message)] = None

    def _on_connected(self, connection: Connection) -> None:
        self._connection = connection
        self._is_up.set()
        self._is_unavailable = False
        self._metrics.connected.set(1)
        log.info("mqtt_connected")

    def _on_disconnected(self) -> None:
        self._connection = None
        self._is_up.clear()
        self._metrics.connected.set(0)

    def _on_unavailable(self, error: TransientError) -> None:
        # Log a warning once per outage, not for every attempt.
        if not self._is_unavailable:
            log.warning("mqtt_unavailable", error=str(error))
        self._is_unavailable = True
