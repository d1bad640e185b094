"""Prevents kafka-python 3.0.12 from losing or repeating a group join that has started."""

import time
from collections.abc import Callable
from typing import Any

from kafka.structs import MemberState


class RejoinPatch:
    """Replaces a coordinator's join method. Every join that has started is completed.

    In kafka-python 3.0.12, a join continues between two polls, with heartbeats disabled, but the
    result is only checked during a poll, and only if there still is a reason to join.

    - If the reason was that the elected leader learnt of the partitions, which happens to every
      worker that starts alone, the reason disappears with the assignment. If the response took
      longer than the poll, the worker silently lost its membership: without heartbeats, other
      workers got its cameras, but it still captured them. So the reason is retained.
    - If the join finished between two polls, the coordinator joined once more. The whole group then
      rebalanced again, at the pace of its heartbeats (observed on an idle machine: 3 of 24 workers
      got their cameras one to three heartbeats later). So the result is retained.
    """

    def __init__(
        self, coordinator: Any, valid_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Replace the coordinator's join method.

        An assignment is used for ``valid_seconds``, less than the session timeout, because no
        heartbeat is sent until it is applied. ``clock`` must be monotonic, in seconds.
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
        """Return the result of the last join if it has not been used yet; otherwise join."""
        if self._assignment is not None and self._is_unused():
            return self._assignment
        self._assignment = None
        self._coordinator.request_rejoin()
        assignment: bytes = await self._join()
        self._assignment, self._generation = assignment, self._coordinator._generation
        self._until_seconds = self._clock() + self._valid_seconds
        return assignment

    def _is_unused(self) -> bool:
        # The state is stable once the assignment has been applied. After a lost membership, the
        # generation differs.
        is_joining = self._coordinator.state is MemberState.REBALANCING
        is_member = self._coordinator._generation is self._generation
        return is_joining and is_member and self._clock() < self._until_seconds
