"""Threads that callers share in turns, and the time that each caller can use."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from api.errors import ApiError, ErrorCode
from api.limits.fair_queue import QueueFullError, QueueLimits
from api.limits.fair_threads import FairThreads, TimeBudget
from tests.clock import Clock


async def test_work_runs_in_no_more_threads_than_allowed() -> None:
    threads = FairThreads("test", QueueLimits(at_once=2, waiting=8))
    both, names = threading.Barrier(2), set()

    def work() -> None:
        names.add(threading.current_thread().name)
        # Two calls must always run at the same time.
        both.wait(timeout=10)

    await asyncio.gather(*(threads.run("a", work) for _ in range(8)))
    threads.close()

    assert len(names) <= 2
    assert all(name.startswith("test") for name in names)


async def test_a_caller_without_a_turn_is_refused_with_the_sentence() -> None:
    asked = FairThreads("test", QueueLimits(at_once=1, waiting=0), too_many="Too many.")
    plain = FairThreads("test", QueueLimits(at_once=1, waiting=0))
    goes_on = threading.Event()
    calls = [asyncio.create_task(each.run("a", goes_on.wait, 10)) for each in (asked, plain)]
    await asyncio.sleep(0)
    with pytest.raises(ApiError, match="Too many") as refused:
        await asked.run("b", sorted, [2, 1])
    assert refused.value.code is ErrorCode.RATE_LIMITED
    assert refused.value.retry_after_seconds == 1
    with pytest.raises(QueueFullError):
        await plain.run("b", sorted, [2, 1])
    goes_on.set()
    assert await asyncio.gather(*calls) == [True, True]
    assert await asked.run("b", sorted, [2, 1]) == [1, 2]


async def test_a_cancelled_caller_has_its_turn_until_the_thread_has_finished() -> None:
    threads = FairThreads("test", QueueLimits(at_once=2, waiting=9, each=1))
    began, goes_on = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        goes_on.wait(10)

    first = asyncio.create_task(threads.run("a", work))
    await asyncio.to_thread(began.wait, 10)
    first.cancel()
    await asyncio.wait([first])
    second = asyncio.create_task(threads.run("a", sorted, [2, 1]))
    assert await threads.run("b", sorted, [4, 3]) == [3, 4]
    assert not second.done()
    goes_on.set()
    assert await second == [1, 2]


async def test_an_error_ends_the_turn() -> None:
    threads = FairThreads("test", QueueLimits(at_once=1, waiting=0))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await threads.run("a", divmod, 1, 0)


def _left(budget: TimeBudget) -> Callable[[str], bool]:
    def has_time(caller: str) -> bool:
        try:
            budget.require(caller)
        except ApiError as error:
            assert error.code is ErrorCode.RATE_LIMITED
            return False
        return True

    return has_time


def test_each_caller_has_its_time_of_a_minute() -> None:
    clock = Clock()
    budget = TimeBudget(10, "Used up.", clock)
    has_time = _left(budget)
    budget.spend("a", 9.9)
    assert has_time("a")
    clock.seconds += 20
    budget.spend("a", 0.1)
    assert not has_time("a")
    assert has_time("b")
    with pytest.raises(ApiError, match="Used up") as refused:
        budget.require("a")
    assert refused.value.retry_after_seconds == 40
    clock.seconds += 40
    assert has_time("a")
