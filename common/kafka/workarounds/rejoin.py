"""Keeps a join of a group, once begun, from being lost or repeated (kafka-python 3.0.12)."""

import time
from collections.abc import Callable
from typing import Any

from kafka.structs import MemberState


class RejoinPatch:
    """Joins a group for its coordinator: a join that was begun is seen through.

    In kafka-python 3.0.12 a join goes on between two polls, with the heartbeats switched off, but
    what it brings is looked at during a poll only, and only where there still is a reason to join.

    - Where the reason was that the elected member learnt of the partitions, it is gone as soon as
      they are shared out again, which each worker does that is alone when it starts. If the answer
      to that took longer than the poll, the worker was no member any more, without a word: without
      heartbeats its cameras were given to others, and it kept them too. So the reason stays.
    - Where the join ended between two polls, the coordinator joined once more, which has the whole
      group begin again, at the pace of its heartbeats (seen on an idle machine: 3 of 24 workers got
      their cameras one to three heartbeats later). So what it brought stays.
    """

    def __init__(
        self, coordinator: Any, valid_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Replaces the coordinator's own way to join.

        A join's assignment is used for ``valid_seconds``, less than the group waits for a
        heartbeat, of which there is none until it is acted on. ``clock`` returns seconds that only
        rise.
        """
        self._coordinator = coordinator
        self._valid_seconds = valid_seconds
        self._clock = clock
        self._until_seconds = 0.0
        self._join = coordinator._do_join_and_sync_async
        self._assignment: bytes | None = None
        self._generation: Any = None
        coordinator._do_join_and_sync_async = self.join

    async def join(self) -> bytes:
        """Return what the last join brought where nobody asked for it yet, else join."""
        if self._assignment is not None and self._is_unused():
            return self._assignment
        self._assignment = None
        self._coordinator.request_rejoin()
        assignment: bytes = await self._join()
        self._assignment, self._generation = assignment, self._coordinator._generation
        self._until_seconds = self._clock() + self._valid_seconds
        return assignment

    def _is_unused(self) -> bool:
        # Acted on, the state is stable; a membership lost meanwhile has another generation.
        is_joining = self._coordinator.state is MemberState.REBALANCING
        is_member = self._coordinator._generation is self._generation
        return is_joining and is_member and self._clock() < self._until_seconds
