"""Turns that are shared fairly."""

import asyncio

import pytest

from api.limits.fair_queue import FairQueue, QueueFullError, QueueLimits


class Bench:
    """A queue, and the callers that have a turn."""

    def __init__(self, limits: QueueLimits) -> None:
        self.turns = FairQueue[str](limits)
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}

    async def _take(self, name: str) -> None:
        async with self.turns.slot(name[0], 60):
            self.begun.append(name)
            self._ends[name] = asyncio.Event()
            await self._ends[name].wait()

    async def ask(self, *names: str) -> list[asyncio.Task[None]]:
        """Request turns, and return the tasks. The first letter of each name is the caller."""
        tasks = [asyncio.create_task(self._take(name)) for name in names]
        await _settle()
        return tasks

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await _settle()


async def _settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_who_asks_once_waits_for_one_turn_of_each_other() -> None:
    bench = Bench(QueueLimits(at_once=2, waiting=100))
    await bench.ask(*(f"a{number}" for number in range(9)))
    await bench.ask("b0", "c0")
    for name in ("a0", "a1", "a2"):
        await bench.end(name)
    assert bench.begun == ["a0", "a1", "a2", "b0", "c0"]


async def test_a_caller_has_no_more_turns_at_once_than_each_may() -> None:
    bench = Bench(QueueLimits(at_once=3, waiting=9, each=2))
    await bench.ask("a0", "a1", "a2", "b0")
    assert bench.begun == ["a0", "a1", "b0"]
    await bench.end("b0")
    assert bench.begun == ["a0", "a1", "b0"]
    await bench.end("a0")
    assert bench.begun == ["a0", "a1", "b0", "a2"]


async def test_without_room_to_wait_the_last_is_refused() -> None:
    bench = Bench(QueueLimits(at_once=1, waiting=0))
    _, refused = await bench.ask("a0", "b0")
    with pytest.raises(QueueFullError, match="full"):
        await refused


async def test_a_turn_that_does_not_come_in_time_is_refused() -> None:
    bench = Bench(QueueLimits(at_once=1, waiting=1))
    await bench.ask("a0")
    with pytest.raises(QueueFullError, match="timed out"):
        async with bench.turns.slot("b", 0.01):
            pass
    assert bench.turns.waiting == 0
