"""Gathers what comes one by one into batches.

Faust's own ``take_events`` looks into its buffer every ``within`` seconds, also where nothing
comes: a hundred times a second in an agent whose batches wait for 10 ms. Here nothing is done until
something comes.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


async def in_batches(
    source: AsyncIterable[T], *, limit: int, within_seconds: float
) -> AsyncGenerator[list[T], None]:
    """Yield what comes in batches: ``limit`` at most, and nothing waits for longer than told.

    What comes while a batch is in use is gathered for the next one, ``limit`` at most. Ends with
    the source, and raises what the source raises.
    """
    gathering = _Gathering[T](limit)
    filling = asyncio.create_task(gathering.fill(source))
    try:
        while batch := await gathering.take(within_seconds):
            yield batch
        await filling
    finally:
        filling.cancel()


class _Gathering(Generic[T]):
    """What has come and is not taken yet."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: list[T] = []
        self._first_seconds = 0.0
        self._has_some = asyncio.Event()
        self._is_full = asyncio.Event()
        self._has_room = asyncio.Event()
        self._is_over = False

    async def fill(self, source: AsyncIterable[T]) -> None:
        """Gather all of a source."""
        try:
            async for one in source:
                if not self._held:
                    self._first_seconds = time.monotonic()
                self._held.append(one)
                self._has_some.set()
                if len(self._held) >= self._limit:
                    self._is_full.set()
                    self._has_room.clear()
                    await self._has_room.wait()
        finally:
            self._is_over = True
            self._has_some.set()
            self._is_full.set()

    async def take(self, within_seconds: float) -> list[T]:
        """Return the next batch; empty at the end."""
        await self._has_some.wait()
        left = self._first_seconds + within_seconds - time.monotonic()
        if left > 0 and not self._is_full.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._is_full.wait()
        batch, self._held = self._held, []
        if not self._is_over:
            self._has_some.clear()
            self._is_full.clear()
        self._has_room.set()
        return batch
