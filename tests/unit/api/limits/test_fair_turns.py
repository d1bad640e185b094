"""Turns, shared fairly."""

import asyncio
from collections.abc import Mapping

import pytest

from api.limits.fair_turns import FairTurns, TurnLimits, TurnRefusedError


class Bench:
    """Turns, and the callers that have one."""

    def __init__(self, limits: TurnLimits, own: Mapping[str, TurnLimits] | None = None) -> None:
        self.turns = FairTurns[str](limits, own)
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}

    async def _take(self, name: str) -> None:
        async with self.turns.turn(name[0], 60):
            self.begun.append(name)
            self._ends[name] = asyncio.Event()
            await self._ends[name].wait()

    async def ask(self, *names: str) -> list[asyncio.Task[None]]:
        """Ask for turns; the first letter of each name is the caller."""
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
    bench = Bench(TurnLimits(at_once=2, waiting=100))
    await bench.ask(*(f"a{number}" for number in range(9)))
    await bench.ask("b0", "c0")
    for name in ("a0", "a1", "a2"):
        await bench.end(name)
    assert bench.begun == ["a0", "a1", "a2", "b0", "c0"]


async def test_who_has_limits_of_its_own_is_kept_to_them() -> None:
    bench = Bench(TurnLimits(at_once=3, waiting=9), {"d": TurnLimits(at_once=1, waiting=1)})
    tasks = await bench.ask("d0", "d1", "d2", "a0")
    assert bench.begun == ["d0", "a0"]
    with pytest.raises(TurnRefusedError, match="too many"):
        await tasks[2]
    await bench.end("d0")
    assert bench.begun[-1] == "d1"


async def test_without_room_to_wait_the_last_is_refused() -> None:
    bench = Bench(TurnLimits(at_once=1, waiting=0))
    _, refused = await bench.ask("a0", "b0")
    with pytest.raises(TurnRefusedError, match="too many"):
        await refused


async def test_a_turn_that_does_not_come_in_time_is_refused() -> None:
    bench = Bench(TurnLimits(at_once=1, waiting=1))
    await bench.ask("a0")
    with pytest.raises(TurnRefusedError, match="in time"):
        async with bench.turns.turn("b", 0.01):
            pass
    assert bench.turns.waiting == 0
