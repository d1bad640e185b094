"""When the sink updates rollups, and how the sink handles failures."""

import asyncio
from typing import cast

import pytest

from analytics_sql.client import ClickHouseClient
from common.errors import TransientError
from streams.sink.rollups import RollupUpdater


class _Keeper(RollupUpdater):
    """Counts its sweeps, and sets ``over`` after ``sweeps``. The first ``failures`` sweeps fail."""

    def __init__(self, sweeps: int, failures: int = 0) -> None:
        super().__init__(cast(ClickHouseClient, object()), every_seconds=0.001)
        self.swept = 0
        self.over = asyncio.Event()
        self._sweeps = sweeps
        self._failures = failures

    async def sweep(self) -> None:
        self.swept += 1
        if self.swept == self._sweeps:
            self.over.set()
        if self.swept <= self._failures:
            raise TransientError("ClickHouse is unavailable")


async def test_a_sweep_that_fails_is_tried_again() -> None:
    keeper = _Keeper(sweeps=3, failures=2)

    running = asyncio.create_task(keeper.run(lambda: True))
    await asyncio.wait_for(keeper.over.wait(), 30)
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_worker_whose_task_it_is_not_leaves_it() -> None:
    keeper = _Keeper(sweeps=1)
    asked = 0

    def is_ours() -> bool:
        nonlocal asked
        asked += 1
        if asked == 3:
            assert keeper.swept == 0
        return asked > 3

    running = asyncio.create_task(keeper.run(is_ours))
    await asyncio.wait_for(keeper.over.wait(), 30)
    running.cancel()

    assert asked == 4
