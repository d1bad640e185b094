"""An agent that reads its messages in batches: unreadable ones are rejected, the rest handled."""

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from common.errors import InvalidInputError
from common.records.topics import Topic
from common.telemetry.messaging import processing_all
from streams.runtime.app import Event, StageApp, raw_topic
from streams.runtime.batches import in_batches
from streams.runtime.guard import Guard

M = TypeVar("M")
R = TypeVar("R")


@dataclass(frozen=True)
class Batch(Generic[M, R]):
    """Decoded messages, and those that can never be decoded with the reason."""

    read: dict[M, R]
    refused: tuple[tuple[M, InvalidInputError], ...]


def read_batch(
    messages: Iterable[tuple[M, bytes | None]], read: Callable[[bytes], R]
) -> Batch[M, R]:
    """Decode messages, given each with its value.

    ``read`` raises InvalidInputError for a value that can never be decoded.
    """
    found: dict[M, R] = {}
    refused: list[tuple[M, InvalidInputError]] = []
    for message, value in messages:
        try:
            found[message] = read(value or b"")
        except InvalidInputError as error:
            refused.append((message, error))
    return Batch(found, tuple(refused))


Handle = Callable[[Sequence[tuple[Event, R]]], Awaitable[None]]
"""Handles events with their decoded values. Must be repeatable."""

HandleBatch = Callable[[Sequence[Event]], Awaitable[None]]
"""Handles a batch and releases all of it. Never raises."""


def _nothing(record: object) -> None:
    """Return None: what follows from a record goes on with no trace of its own."""


class BatchAgent(Generic[R]):
    """The body of an agent."""

    def __init__(
        self,
        guard: Guard,
        read: Callable[[bytes], R],
        handle: Handle[R],
        about: Callable[[R], UUID | None] = _nothing,
    ) -> None:
        """``read`` raises InvalidInputError for a value that can never be decoded.

        ``about`` returns the id by which ``handle`` finds the trace of a record
        (:func:`common.telemetry.messaging.trace_about`).
        """
        self._guard = guard
        self._read = read
        self._handle = handle
        self._about = about

    async def take(self, events: Sequence[Event]) -> None:
        """Handle the readable events, dead-letter the rest, and release all. Never raises."""
        batch = read_batch(((event, event.message.value) for event in events), self._read)
        for event, error in batch.refused:
            await self._guard.reject(event, error)

        async def handle(part: Sequence[Event]) -> None:
            await self._handle([(event, batch.read[event]) for event in part])

        if batch.read:
            about = ((event.message, self._about(read)) for event, read in batch.read.items())
            with processing_all(about, self._guard.group):
                await self._guard.run_batch(tuple(batch.read), handle)


def add_batch_agent(
    app: StageApp,
    topic: Topic,
    handle: HandleBatch,
    *,
    stage: str,
    max_batch: int,
    within_seconds: float,
) -> None:
    """Give ``handle`` a topic's messages, at most ``max_batch`` or those of ``within_seconds``."""

    @app.agent(raw_topic(app, topic), name=f"{stage}-{topic.name}", concurrency=1)
    async def take_batches(stream: Any) -> None:
        async with aclosing(event_batches(stream, max_batch, within_seconds)) as batches:
            async for events in batches:
                await handle(events)


async def event_batches(
    stream: Any, max_batch: int, within_seconds: float
) -> AsyncGenerator[Sequence[Event], None]:
    """Yield the events of a Faust stream in batches, each acknowledged when the next is asked for.

    A rebalance waits until all that was handed over is acknowledged.
    """
    stream.enable_acks = False
    found: AsyncIterable[Event] = stream.events()
    batches = in_batches(found, limit=max_batch, within_seconds=within_seconds)
    async with aclosing(batches) as each:
        async for events in each:
            try:
                yield events
            finally:
                for event in events:
                    await stream.ack(event)
