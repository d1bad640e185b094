"""An agent that takes its messages in batches: what cannot be read goes, the rest is handled."""

from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from contracts.topics import Topic
from streams.common.app import Event, StageApp, raw_topic
from streams.common.batches import read_batch
from streams.common.guard import Guard

R = TypeVar("R")

Handle = Callable[[Sequence[tuple[Event, R]]], Awaitable[None]]
"""Handles events with what they hold. Must be repeatable."""

Take = Callable[[Sequence[Event]], Awaitable[None]]
"""Takes a batch and releases all of it. Never raises."""


class BatchAgent(Generic[R]):
    """The body of an agent."""

    def __init__(self, guard: Guard, read: Callable[[bytes], R], handle: Handle[R]) -> None:
        """``read`` raises InvalidInputError for what can never be read."""
        self._guard = guard
        self._read = read
        self._handle = handle

    async def take(self, events: Sequence[Event]) -> None:
        """Handle what can be read, dead-letter the rest, and release all. Never raises."""
        batch = read_batch(((event, event.message.value) for event in events), self._read)
        for event, error in batch.refused:
            await self._guard.reject(event, error)

        async def handle(part: Sequence[Event]) -> None:
            await self._handle([(event, batch.read[event]) for event in part])

        if batch.read:
            await self._guard.run_batch(tuple(batch.read), handle)


def add_batch_agent(
    app: StageApp, topic: Topic, take: Take, *, stage: str, most: int, within_seconds: float
) -> None:
    """Give ``take`` a topic's messages, ``most`` at once or what came ``within_seconds``."""

    @app.agent(raw_topic(app, topic), name=f"{stage}-{topic.name}", concurrency=1)
    async def take_batches(stream: Any) -> None:
        batches: AsyncIterable[Sequence[Event]] = stream.take_events(most, within=within_seconds)
        async for events in batches:
            await take(events)
