"""Reads a topic in batches. Unreadable messages are rejected, and all others are handled.

Faust's own ``take_events`` is not used because it checks its buffer every ``within`` seconds even
if nothing arrives: a hundred times per second in an agent that collects batches for 10 ms.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from common.errors import InvalidInputError
from common.records.topics import Topic
from common.telemetry.messaging import processing_all
from streams.runtime.app import Event, StageApp, raw_topic
from streams.runtime.stage_runner import StageRunner

M = TypeVar("M")
R = TypeVar("R")

_LONGEST_TURN_SECONDS = 0.005


@dataclass(frozen=True)
class Batch(Generic[M, R]):
    """The decoded messages of a batch, and the undecodable messages with the reason."""

    read: dict[M, R]
    refused: tuple[tuple[M, InvalidInputError], ...]


def read_batch(
    messages: Iterable[tuple[M, bytes | None]], read: Callable[[bytes], R]
) -> Batch[M, R]:
    """Decode messages, given as pairs of a message and its value, and return the batch.

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
"""Handles events with their decoded values. The call must be repeatable."""

HandleBatch = Callable[[Sequence[Event]], Awaitable[None]]
"""Handles a batch and releases all of its events. Never raises."""


def _nothing(record: object) -> None:
    """Return None, so that the results of a record do not continue the record's trace."""


class BatchAgent(Generic[R]):
    """Implements the body of an agent that handles a topic in batches."""

    def __init__(
        self,
        runner: StageRunner,
        read: Callable[[bytes], R],
        handle: Handle[R],
        about: Callable[[R], UUID | None] = _nothing,
    ) -> None:
        """``read`` raises InvalidInputError for a value that can never be decoded.

        ``about`` returns the id by which ``handle`` finds the trace of a record
        (:func:`common.telemetry.messaging.trace_about`).
        """
        self._runner = runner
        self._read = read
        self._handle = handle
        self._about = about

    async def take(self, events: Sequence[Event]) -> None:
        """Handle readable events, dead-letter the others, and release all events. Never raises."""
        batch = read_batch(((event, event.message.value) for event in events), self._read)
        for event, error in batch.refused:
            await self._runner.reject(event, error)

        async def handle(part: Sequence[Event]) -> None:
            await self._handle([(event, batch.read[event]) for event in part])

        if batch.read:
            about = ((event.message, self._about(read)) for event, read in batch.read.items())
            with processing_all(about, self._runner.group):
                await self._runner.run_batch(tuple(batch.read), handle)


def add_batch_agent(
    app: StageApp,
    topic: Topic,
    handle: HandleBatch,
    *,
    stage: str,
    max_batch: int,
    within_seconds: float,
) -> None:
    """Add an agent that passes a topic's messages to ``handle`` in batches (:func:`in_batches`)."""

    @app.agent(raw_topic(app, topic), name=f"{stage}-{topic.name}", concurrency=1)
    async def take_batches(stream: Any) -> None:
        async with aclosing(event_batches(stream, max_batch, within_seconds)) as batches:
            async for events in batches:
                await handle(events)


async def event_batches(
    stream: Any, max_batch: int, within_seconds: float
) -> AsyncGenerator[Sequence[Event], None]:
    """Yield the events of a Faust stream in batches.

    Requesting the next batch acknowledges the previous batch. A rebalance waits for this.
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


async def in_batches(
    source: AsyncIterable[M], *, limit: int, within_seconds: float
) -> AsyncGenerator[list[M], None]:
    """Yield items in batches of at most ``limit``; no item waits longer than ``within_seconds``.

    While a batch is in use, at most ``limit`` items are collected for the next batch. The generator
    ends when the source ends, and raises any error of the source.
    """
    gathering = _Gathering[M](limit)
    filling = asyncio.create_task(gathering.fill(source))
    try:
        while batch := await gathering.take(within_seconds):
            yield batch
        await filling
    finally:
        filling.cancel()


class _Gathering(Generic[M]):
    """Items that have arrived and have not been taken yet."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: list[M] = []
        self._first_seconds = 0.0
        self._has_some = asyncio.Event()
        self._is_full = asyncio.Event()
        self._has_capacity = asyncio.Event()
        self._is_finished = False

    async def fill(self, source: AsyncIterable[M]) -> None:
        """Collect all items of a source."""
        try:
            async for one in source:
                if not self._items:
                    self._first_seconds = time.monotonic()
                self._items.append(one)
                self._has_some.set()
                if len(self._items) >= self._limit:
                    self._is_full.set()
                    self._has_capacity.clear()
                    await self._has_capacity.wait()
        finally:
            self._is_finished = True
            self._has_some.set()
            self._is_full.set()

    async def take(self, within_seconds: float) -> list[M]:
        """Return the next batch, which is empty at the end of the source."""
        await self._has_some.wait()
        left = self._first_seconds + within_seconds - time.monotonic()
        if left > 0 and not self._is_full.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._is_full.wait()
        batch, self._items = self._items, []
        if not self._is_finished:
            self._has_some.clear()
            self._is_full.clear()
        self._has_capacity.set()
        return batch


class LoopYielder:
    """Yields to other tasks of the event loop during long-running work."""

    def __init__(self, longest_seconds: float = _LONGEST_TURN_SECONDS) -> None:
        self._longest_seconds = longest_seconds
        self._since = time.monotonic()

    async def yield_if_due(self) -> None:
        """Let other tasks run once if the time is up, otherwise return immediately."""
        if time.monotonic() - self._since >= self._longest_seconds:
            await asyncio.sleep(0)
            self._since = time.monotonic()
