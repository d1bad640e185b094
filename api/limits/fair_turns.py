"""Turns at something that only so much may use at once, shared fairly by who asks."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from common.errors import TransientError

K = TypeVar("K", bound=Hashable)
_Turn = asyncio.Future[None]


class TurnRefusedError(TransientError):
    """Too many wait already, or no turn came in time."""


@dataclass(frozen=True)
class TurnLimits:
    """Turns that may be taken at once, and those that may be waited for."""

    at_once: int
    waiting: int


class FairTurns(Generic[K]):
    """Gives turns, each caller's in order; the caller whose last turn is longest ago comes next.

    So who asks a hundred times at once waits for these, and who asks once waits for one turn of
    each other caller.
    """

    def __init__(self, limits: TurnLimits, own: Mapping[K, TurnLimits] | None = None) -> None:
        """``own`` limits hold for single callers, besides those of all."""
        self._limits = limits
        self._own = dict(own or {})
        self._waiting: OrderedDict[K, deque[_Turn]] = OrderedDict()
        self._taken = 0
        self._taken_by = dict.fromkeys(self._own, 0)

    @property
    def waiting(self) -> int:
        """Turns that are waited for."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def turn(self, caller: K, wait_seconds: float) -> AsyncIterator[None]:
        """Wait for a turn, which ends with the block.

        Raises:
            TurnRefusedError: too many wait, or the turn did not come in time.
        """
        if self.waiting or not self._has_room(caller):
            await self._wait(caller, wait_seconds)
        else:
            self._begin(caller)
        try:
            yield
        finally:
            self._end(caller)

    async def _wait(self, caller: K, wait_seconds: float) -> None:
        """Return once it is the caller's turn, which has begun then."""
        self._make_room(caller)
        turn: _Turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        # All that wait may do so for limits of their own.
        self._give_turns()
        try:
            async with asyncio.timeout(wait_seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                # The turn came with what ended the wait.
                self._end(caller)
            else:
                self._forget(caller, turn)
            if isinstance(error, TimeoutError):
                raise TurnRefusedError("no turn came in time") from error
            raise

    def _make_room(self, caller: K) -> None:
        """Refuse one more that waits, or the last of a caller of whom more wait."""
        full = TurnRefusedError("too many wait for a turn")
        of_caller = len(self._waiting.get(caller, ()))
        own = self._own.get(caller)
        if own is not None and of_caller >= own.waiting:
            raise full
        if self.waiting < self._limits.waiting:
            return
        most = max(self._waiting.values(), key=len, default=deque[_Turn]())
        if len(most) <= of_caller + 1:
            raise full
        evicted = most.pop()
        if not evicted.done():
            evicted.set_exception(full)

    def _has_room(self, caller: K) -> bool:
        own = self._own.get(caller)
        if own is not None and self._taken_by[caller] >= own.at_once:
            return False
        return self._taken < self._limits.at_once

    def _begin(self, caller: K) -> None:
        self._count(caller, 1)

    def _end(self, caller: K) -> None:
        self._count(caller, -1)
        self._give_turns()

    def _count(self, caller: K, change: int) -> None:
        self._taken += change
        if caller in self._own:
            self._taken_by[caller] += change

    def _give_turns(self) -> None:
        for caller in list(self._waiting):
            if not self._has_room(caller):
                continue
            # One that was given up may not have been forgotten yet.
            turns = deque(turn for turn in self._waiting.pop(caller) if not turn.done())
            if turns:
                self._begin(caller)
                turns.popleft().set_result(None)
            if turns:
                # Behind all others that wait.
                self._waiting[caller] = turns

    def _forget(self, caller: K, turn: _Turn) -> None:
        turns = self._waiting.get(caller, deque())
        if turn in turns:
            turns.remove(turn)
        if not turns:
            self._waiting.pop(caller, None)
