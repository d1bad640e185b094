"""Work that yields to other tasks."""

import asyncio

from streams.runtime.batch_agent import LoopYielder


async def test_others_go_on_while_something_long_is_done() -> None:
    done: list[str] = []

    async def other() -> None:
        done.append("other")

    task = asyncio.create_task(other())
    cooperation = LoopYielder(longest_seconds=0)
    for number in range(3):
        done.append(str(number))
        await cooperation.yield_if_due()
    await task

    assert done == ["0", "other", "1", "2"]


async def test_what_is_over_soon_gives_no_way() -> None:
    done: list[str] = []

    async def other() -> None:
        done.append("other")

    task = asyncio.create_task(other())
    await LoopYielder(longest_seconds=60).yield_if_due()
    assert not done
    await task
