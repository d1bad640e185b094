"""Runs many pieces of work at once and lets each lane's results out in order."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self


class Turn:
    """A place in a lane's queue. Passed on by leaving the ``async with`` block."""

    def __init__(self, before: "Turn | None") -> None:
        """Stand behind another turn."""
        self._before = before
        self._over = asyncio.Event()

    async def come(self) -> None:
        """Wait until all turns before this one are over."""
        if self._before is not None:
            await self._before._over.wait()
            self._before = None

    async def __aenter__(self) -> Self:
        """Begin without waiting."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Be over once those before are, whatever happened."""
        try:
            await self.come()
        finally:
            self._over.set()


Work = Callable[[Turn], Awaitable[None]]


class OrderedWindow:
    """At most ``size`` pieces of work at a time, each lane's turns in the order of submission."""

    def __init__(self, size: int) -> None:
        """Take how much may be under way."""
        self._free = asyncio.Semaphore(size)
        self._last: dict[int, Turn] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> int:
        """Pieces of work that are not finished."""
        return len(self._tasks)

    async def submit(self, lane: int, work: Work) -> None:
        """Begin a piece of work as soon as there is room; returns when it has begun.

        ``work`` must not raise; it awaits ``turn.come()`` before it lets its result out.
        """
        await self._free.acquire()
        turn = Turn(self._last.get(lane))
        self._last[lane] = turn
        task = asyncio.create_task(self._run(turn, work))
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    async def close(self) -> None:
        """Cancel what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, turn: Turn, work: Work) -> None:
        async with turn:
            await work(turn)

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._free.release()
