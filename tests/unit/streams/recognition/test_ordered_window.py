import asyncio
import random
from functools import partial

from streams.recognition.ordered_window import OrderedWindow, Turn


async def until_idle(window: OrderedWindow) -> None:
    for _ in range(10_000):
        if not window.under_way:
            return
        await asyncio.sleep(0)
    raise AssertionError("work is still under way")


async def test_results_leave_in_order_whatever_the_work_takes() -> None:
    window, out = OrderedWindow(8), list[int]()
    chance = random.Random(1)

    async def work(number: int, turn: Turn) -> None:
        for _ in range(chance.randrange(20)):
            await asyncio.sleep(0)
        await turn.come()
        out.append(number)

    for number in range(100):
        await window.submit(0, partial(work, number))
    await until_idle(window)
    assert out == list(range(100))


async def test_lanes_do_not_wait_for_each_other() -> None:
    window, out, gate = OrderedWindow(4), list[int](), asyncio.Event()

    async def work(lane: int, turn: Turn) -> None:
        if lane == 0:
            await gate.wait()
        await turn.come()
        out.append(lane)

    for lane in (0, 1, 1):
        await window.submit(lane, partial(work, lane))
    for _ in range(20):
        await asyncio.sleep(0)
    assert out == [1, 1]
    gate.set()
    await until_idle(window)
    assert out == [1, 1, 0]


async def test_no_more_than_its_size_is_under_way() -> None:
    window, gate, most = OrderedWindow(3), asyncio.Event(), 0

    async def work(_: Turn) -> None:
        nonlocal most
        most = max(most, window.under_way)
        await gate.wait()

    async def submit_all() -> None:
        for _ in range(10):
            await window.submit(0, work)

    submitting = asyncio.create_task(submit_all())
    for _ in range(50):
        await asyncio.sleep(0)
    assert window.under_way == 3
    gate.set()
    await submitting
    await until_idle(window)
    assert most == 3


async def test_work_that_fails_lets_the_next_one_go() -> None:
    window, out = OrderedWindow(2), list[int]()

    async def fail(_: Turn) -> None:
        raise RuntimeError("must not happen, and must not stall the lane")

    async def work(turn: Turn) -> None:
        await turn.come()
        out.append(1)

    await window.submit(0, fail)
    await window.submit(0, work)
    await until_idle(window)
    assert out == [1]


async def test_close_cancels_what_is_under_way() -> None:
    window, cancelled = OrderedWindow(2), list[str]()

    async def work(turn: Turn) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("yes")
            raise

    await window.submit(0, work)
    await window.submit(0, work)
    await asyncio.sleep(0)
    await window.close()
    assert cancelled == ["yes", "yes"]
    assert window.under_way == 0


async def test_a_turn_comes_once_those_before_are_over() -> None:
    first = Turn(None)
    second = Turn(first)
    waiting = asyncio.create_task(second.come())
    await asyncio.sleep(0)
    assert not waiting.done()
    async with first:
        pass
    await waiting
