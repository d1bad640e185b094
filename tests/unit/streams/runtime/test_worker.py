import asyncio
import time
from collections.abc import Callable
from typing import cast

import pytest
from faust.types import TP

from streams.runtime.app import StageApp, StageMetrics
from streams.runtime.progress import Position
from streams.runtime.worker import Watchdog

_TP = TP("things", 0)
_LAGGING = {_TP: Position(done=5, end=9)}


class _App:
    """A running stage, as the watchdog uses it."""

    def __init__(self, positions: dict[TP, Position]) -> None:
        self.metrics = StageMetrics()
        self.rebalancing = False
        self.is_waiting = False
        self.fault: Exception | None = None
        self._positions = positions

    async def positions(self) -> dict[TP, Position]:
        if self.fault is not None:
            raise self.fault
        return self._positions


def _watchdog(
    app: _App,
    ended: list[int],
    stall_seconds: float = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Watchdog:
    return Watchdog(
        cast(StageApp, app),
        asyncio.get_running_loop(),
        stall_seconds=stall_seconds,
        end=ended.append,
        clock=clock,
    )


async def test_ends_a_stage_with_lag_and_no_progress() -> None:
    ended: list[int] = []
    await asyncio.to_thread(_watchdog(_App(_LAGGING), ended).check)
    assert ended == [75]


async def test_a_short_standstill_does_not_end_the_stage() -> None:
    ended: list[int] = []
    watchdog = _watchdog(_App(_LAGGING), ended, stall_seconds=100)
    for _ in range(3):
        await asyncio.to_thread(watchdog.check)
    assert not ended


@pytest.mark.parametrize("trouble", ["rebalancing for ever", "no answer from Kafka"])
async def test_ends_a_stage_that_cannot_say_how_far_it_is(trouble: str) -> None:
    app, ended = _App({}), list[int]()
    app.rebalancing = trouble == "rebalancing for ever"
    app.fault = None if app.rebalancing else OSError("Kafka is unavailable")
    await asyncio.to_thread(_watchdog(app, ended).check)
    assert ended == [75]


async def test_waiting_for_a_dependency_is_no_standstill() -> None:
    now = [0.0]
    app, ended = _App(_LAGGING), list[int]()
    watchdog = _watchdog(app, ended, 30, lambda: now[0])
    app.is_waiting = True
    for now[0] in range(0, 200, 10):
        await asyncio.to_thread(watchdog.check)
    assert not ended
    app.is_waiting = False
    now[0] = 220.0
    await asyncio.to_thread(watchdog.check)
    assert ended == [75]
