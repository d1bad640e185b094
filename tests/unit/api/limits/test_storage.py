"""Windows in memory: what is counted and for how long, and when counts are dropped."""

import asyncio

from api.limits.storage import WindowMemory
from tests.unit.api.wall_clock import WallClock


async def test_a_window_slides(clock: WallClock) -> None:
    memory = WindowMemory()
    assert [await memory.acquire_entry("a", 2, 60) for _ in range(3)] == [True, True, False]
    clock.now += 61
    assert await memory.get_moving_window("a", 2, 60) == (clock.now, 0)
    assert not await memory.acquire_entry("a", 2, 60, amount=3)
    assert await memory.acquire_entry("a", 2, 60, amount=2)
    assert await memory.get_moving_window("a", 2, 60) == (clock.now, 2)


async def test_a_number_holds_from_when_it_was_none(clock: WallClock) -> None:
    memory = WindowMemory()
    assert [await memory.incr("a", 10), await memory.incr("a", 10)] == [1, 2]
    assert await memory.get_expiry("a") == clock.now + 10
    clock.now += 10
    assert await memory.get("a") == 0
    assert await memory.incr("a", 10, -1) == -1


async def test_silent_callers_are_forgotten(clock: WallClock) -> None:
    memory = WindowMemory()
    for number in range(100):
        await memory.acquire_entry(str(number), 2, 60)
        await memory.incr(str(number), 60)
    clock.now += 61
    await memory.acquire_entry("another", 2, 60)
    assert await memory.reset() == 1


async def test_nothing_runs_on_after_a_request() -> None:
    before = asyncio.all_tasks()
    memory = WindowMemory()
    await memory.acquire_entry("a", 2, 60)
    await memory.clear("a")
    assert await memory.check()
    assert asyncio.all_tasks() == before


async def test_numbers_of_the_past_are_forgotten(clock: WallClock) -> None:
    memory = WindowMemory()
    for number in range(100):
        await memory.incr(f"a {number}", 10)
    clock.now += 61
    await memory.incr("b", 10)

    assert await memory.reset() == 1
