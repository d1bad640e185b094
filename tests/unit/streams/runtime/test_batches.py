"""Batches lose and duplicate no record, keep order and time limits, and are idle without input."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

import pytest

from streams.runtime.batch_agent import in_batches


class Feed:
    """A feed of numbers that arrive when a test releases them."""

    def __init__(self) -> None:
        self._queue = asyncio.Queue[int | None]()
        self.taken = 0

    def come(self, *numbers: int | None) -> None:
        """Release numbers to the feed. None ends the feed."""
        for number in numbers:
            self._queue.put_nowait(number)

    async def __aiter__(self) -> AsyncIterator[int]:
        while (number := await self._queue.get()) is not None:
            self.taken += 1
            yield number


@pytest.fixture
async def timers(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The timers that are set on the event loop, in the order of their creation."""
    loop, found = asyncio.get_running_loop(), list[object]()
    set_timer = loop.call_at

    def noted(when: float, *rest: Any, **options: Any) -> asyncio.TimerHandle:
        found.append(when)
        return set_timer(when, *rest, **options)

    monkeypatch.setattr(loop, "call_at", noted)
    return found


async def test_what_comes_together_is_one_batch() -> None:
    feed = Feed()
    feed.come(1, 2, 3, None)

    assert [batch async for batch in in_batches(feed, limit=10, within_seconds=5)] == [[1, 2, 3]]


async def test_a_full_batch_waits_for_nothing() -> None:
    feed = Feed()
    feed.come(*range(7))
    async with aclosing(in_batches(feed, limit=3, within_seconds=3600)) as batches:
        assert await anext(batches) == [0, 1, 2]
        assert await anext(batches) == [3, 4, 5]


async def test_the_last_batch_comes_when_its_time_is_over() -> None:
    feed = Feed()
    feed.come(1)
    async with asyncio.timeout(5), aclosing(in_batches(feed, limit=3, within_seconds=0.01)) as all_:
        assert await anext(all_) == [1]
        feed.come(2)
        assert await anext(all_) == [2]


async def test_no_more_is_taken_than_fits_while_a_batch_is_in_use() -> None:
    feed = Feed()
    feed.come(*range(100))
    async with aclosing(in_batches(feed, limit=5, within_seconds=1)) as batches:
        await anext(batches)
        for _ in range(50):
            await asyncio.sleep(0)
        assert feed.taken == 10


async def test_what_waited_for_its_time_already_comes_at_once(timers: list[object]) -> None:
    feed = Feed()
    feed.come(1)
    async with aclosing(in_batches(feed, limit=5, within_seconds=0.01)) as batches:
        await anext(batches)
        feed.come(2)
        await asyncio.sleep(0.02)
        timers.clear()
        assert await anext(batches) == [2]
        assert timers == []


async def test_a_fault_of_the_source_is_raised_after_earlier_items() -> None:
    async def faulty() -> AsyncIterator[int]:
        yield 1
        raise ValueError("broken")

    found = []
    with pytest.raises(ValueError, match="broken"):
        async for batch in in_batches(faulty(), limit=5, within_seconds=0):
            found += batch
    assert found == [1]


async def test_who_stops_reading_stops_the_source() -> None:
    feed = Feed()
    feed.come(1)
    async with aclosing(in_batches(feed, limit=1, within_seconds=0)) as batches:
        await anext(batches)
    await asyncio.sleep(0)

    feed.come(2, 3)
    for _ in range(10):
        await asyncio.sleep(0)
    assert feed.taken == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_nothing_is_done_while_nothing_comes(timers: list[object]) -> None:
    async with aclosing(in_batches(Feed(), limit=5, within_seconds=0.001)) as batches:
        waiting = asyncio.ensure_future(anext(batches))
        for _ in range(20):
            await asyncio.sleep(0)
        assert timers == []
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
