"""Fairly schedules access to a resource that only a few callers can use at the same time."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

from common.errors import TransientError

K = TypeVar("K", bound=Hashable)
_Slot = asyncio.Future[None]

_CALLER: ContextVar[Hashable] = ContextVar("turn_caller", default=None)


def queue_as(caller: Hashable) -> None:
    """Schedule the rest of this request as ``caller``."""
    _CALLER.set(caller)


def current_caller() -> Hashable:
    """Return the caller of this request: an account's ID, or a client network before login.

    Return None outside of requests, for work of the service itself.
    """
    return _CALLER.get()


class QueueFullError(TransientError):
    """Too many callers are waiting, or the wait timed out."""


@dataclass(frozen=True)
class QueueLimits:
    """Maximum number of active turns, of waiting turns, and of active turns of one caller."""

    at_once: int
    waiting: int
    each: int | None = None


class FairQueue(Generic[K]):
    """Schedules callers fairly. The caller whose last turn is oldest is next.

    A caller with a hundred requests waits for its own turns. A caller with a single request waits
    for at most one turn of each other caller.
    """

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._waiting: OrderedDict[K, deque[_Slot]] = OrderedDict()
        self._active = 0
        self._active_by: Counter[K] = Counter()

    @property
    def waiting(self) -> int:
        """Number of waiting turns."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def slot(self, caller: K, wait_seconds: float | None) -> AsyncIterator[None]:
        """Wait for a turn, which lasts until the block ends.

        Raises:
            QueueFullError: too many callers are waiting, or the wait timed out.
        """
        await self.acquire(caller, wait_seconds)
        try:
            yield
        finally:
            self.release(caller)

    async def acquire(self, caller: K, wait_seconds: float | None) -> None:
        """Wait for a turn, which lasts until :meth:`release`. ``wait_seconds`` None means no limit.

        Raises:
            QueueFullError: too many callers are waiting, or the wait timed out.
        """
        if self._waiting or not self._has_capacity(caller):
            await self._wait(caller, wait_seconds)
        else:
            self._count(caller, 1)

    def release(self, caller: K) -> None:
        """End a turn and start the next turns."""
        self._count(caller, -1)
        self._start_next()

    async def _wait(self, caller: K, wait_seconds: float | None) -> None:
        """Return when the caller's turn has started."""
        self._evict(caller)
        slot: _Slot = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(slot)
        # All other waiting callers may be at their limit while this caller is not.
        self._start_next()
        try:
            async with asyncio.timeout(wait_seconds):
                await slot
        except BaseException as error:
            if slot.done() and not slot.cancelled() and slot.exception() is None:
                # The turn started at the moment when the wait ended.
                self.release(caller)
            else:
                self._forget(caller, slot)
            if isinstance(error, TimeoutError):
                raise QueueFullError("timed out waiting in the queue") from error
            raise

    def _evict(self, caller: K) -> None:
        """If the queue is full, reject this turn, or the last turn of the caller with the most."""
        if self.waiting < self._limits.waiting:
            return
        full = QueueFullError("the queue is full")
        most = max(self._waiting.values(), key=len, default=deque[_Slot]())
        if len(most) <= len(self._waiting.get(caller, ())) + 1:
            raise full
        evicted = most.pop()
        if not evicted.done():
            evicted.set_exception(full)

    def _has_capacity(self, caller: K) -> bool:
        each = self._limits.each
        if each is not None and self._active_by[caller] >= each:
            return False
        return self._active < self._limits.at_once

    def _count(self, caller: K, change: int) -> None:
        self._active += change
        self._active_by[caller] += change
        if not self._active_by[caller]:
            del self._active_by[caller]

    def _start_next(self) -> None:
        for caller in list(self._waiting):
            if self._active >= self._limits.at_once:
                return
            if not self._has_capacity(caller):
                continue
            # Turns whose wait has ended can still be in the queue.
            slots = deque(slot for slot in self._waiting.pop(caller) if not slot.done())
            if slots:
                self._count(caller, 1)
                slots.popleft().set_result(None)
            if slots:
                # The caller is appended after all other waiting callers.
                self._waiting[caller] = slots

    def _forget(self, caller: K, slot: _Slot) -> None:
        slots = self._waiting.get(caller, deque())
        if slot in slots:
            slots.remove(slot)
        if not slots:
            self._waiting.pop(caller, None)
