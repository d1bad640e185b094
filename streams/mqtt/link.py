"""The way to the broker: one connection after the other, and who waits for it."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol

import structlog

from contracts.errors import TransientError
from streams.common.retry import RetryPolicy
from streams.mqtt.broker import RefusedMessageError
from streams.mqtt.messages import Message
from streams.mqtt.metrics import MqttMetrics

log = structlog.get_logger()

# So short that a stop or a rebalance is not held up; the guard tries again.
_WAIT_SECONDS = 2.0
_STEADY_SECONDS = 10.0
_REMEMBERED = 10_000


class Opened(Protocol):
    """What is used of a :class:`~streams.mqtt.broker.Connection`."""

    async def announce(self) -> None:
        """Say that this process is there."""

    async def send(
        self, messages: Sequence[Message], acknowledged: Callable[[Message], None]
    ) -> None:
        """Publish messages; returns when the broker has all."""

    async def wait_until_ended(self) -> None:
        """Return once the connection is gone."""

    async def leave(self) -> None:
        """Say that this process goes, then close."""

    async def close(self) -> None:
        """Close."""


Publish = Callable[[Sequence[Message]], Awaitable[None]]
Greet = Callable[[Publish], Awaitable[None]]
"""Publishes what a broker must know that may have forgotten everything."""


class BrokerLink:
    """Keeps a connection for as long as it runs, with growing pauses between tries."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Opened]],
        metrics: MqttMetrics,
        *,
        retry: RetryPolicy,
    ) -> None:
        """Take what opens a connection; ``greet`` may be set at any time."""
        self._connect = connect
        self._metrics = metrics
        self._retry = retry
        self._connection: Opened | None = None
        self._is_up = asyncio.Event()
        self._renewal = asyncio.Event()
        self._acknowledged: OrderedDict[int, None] = OrderedDict()
        self._is_away = False
        self.greet: Greet | None = None

    async def run(self) -> None:
        """Connect, and again whenever the connection ends; until cancelled."""
        failures = 0
        while True:
            opened_at = time.monotonic()
            try:
                await self._hold(await self._connect())
            except TransientError as error:
                self._note_absence(error)
            except Exception:
                # The edge of the loop: without it nothing would ever be sent again.
                log.exception("mqtt_link_failed")
            if time.monotonic() - opened_at > _STEADY_SECONDS:
                failures = 0
            failures += 1
            await asyncio.sleep(self._retry.pause_seconds(failures))

    async def publish(self, messages: Sequence[Message]) -> None:
        """Publish messages; returns when the broker has all.

        An event that the broker has acknowledged is not sent again where its batch is repeated.

        Raises:
            TransientError: the broker is away, or refuses a message.
        """
        connection = await self._awaited()
        fresh = [message for message in messages if hash(message) not in self._acknowledged]
        await self._send(connection, fresh)

    def renew(self) -> None:
        """Greet the broker again soon: what it should know has changed."""
        self._renewal.set()

    async def _hold(self, connection: Opened) -> None:
        try:
            await self._welcome(connection)
            self._note_presence(connection)
            await self._until_ended(connection)
            raise TransientError("the connection to the MQTT broker ended")
        except asyncio.CancelledError:
            await connection.leave()
            raise
        finally:
            self._note_end()
            await connection.close()

    async def _welcome(self, connection: Opened) -> None:
        self._renewal.clear()
        await connection.announce()
        if self.greet is not None:
            await self.greet(lambda messages: self._send(connection, messages))

    async def _until_ended(self, connection: Opened) -> None:
        ended = asyncio.ensure_future(connection.wait_until_ended())
        try:
            while not ended.done():
                renewal = asyncio.ensure_future(self._renewal.wait())
                await asyncio.wait({ended, renewal}, return_when=asyncio.FIRST_COMPLETED)
                renewal.cancel()
                if self._renewal.is_set() and not ended.done():
                    await self._welcome(connection)
        finally:
            ended.cancel()

    async def _awaited(self) -> Opened:
        with suppress(TimeoutError):
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._is_up.wait()
        if self._connection is None:
            raise TransientError("the MQTT broker is away")
        return self._connection

    async def _send(self, connection: Opened, messages: Sequence[Message]) -> None:
        try:
            await connection.send(messages, self._note_acknowledged)
        except RefusedMessageError:
            self._metrics.refused()
            raise

    def _note_acknowledged(self, message: Message) -> None:
        self._metrics.acknowledged(message.kind)
        if message.retain:
            # A state that comes back is news.
            return
        self._acknowledged[hash(message)] = None
        if len(self._acknowledged) > _REMEMBERED:
            self._acknowledged.popitem(last=False)

    def _note_presence(self, connection: Opened) -> None:
        self._connection = connection
        self._is_up.set()
        self._is_away = False
        self._metrics.connected(True)
        log.info("mqtt_connected")

    def _note_end(self) -> None:
        self._connection = None
        self._is_up.clear()
        self._metrics.connected(False)

    def _note_absence(self, error: TransientError) -> None:
        # Said once for each outage, not with every try.
        if not self._is_away:
            log.warning("mqtt_away", error=str(error))
        self._is_away = True
