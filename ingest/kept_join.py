"""What joining the group brought is not thrown away."""

from typing import Any

from kafka.structs import MemberState


class KeptJoin:
    """Joins a group for its coordinator, and keeps the outcome until that is acted on.

    In kafka-python 3.0.12 a join goes on between two polls, but what it brings is looked at only
    where it ends during one: else the coordinator joins once more, which has the whole group begin
    anew, at the pace of its heartbeats (seen on an idle machine: 3 of 24 workers that joined got
    their cameras one to three heartbeats later).
    """

    def __init__(self, coordinator: Any) -> None:
        """Take the place of the coordinator's own way to join."""
        self._coordinator = coordinator
        self._join = coordinator._do_join_and_sync_async
        self._assignment: bytes | None = None
        self._generation: Any = None
        coordinator._do_join_and_sync_async = self.join

    async def join(self) -> bytes:
        """Return what the last join brought where nobody asked for it yet, else join."""
        if self._assignment is not None and self._is_unused():
            return self._assignment
        self._assignment = None
        assignment: bytes = await self._join()
        self._assignment, self._generation = assignment, self._coordinator._generation
        return assignment

    def _is_unused(self) -> bool:
        # Acted on, the state is stable; a membership lost meanwhile has another generation.
        is_joining = self._coordinator.state is MemberState.REBALANCING
        return is_joining and self._coordinator._generation is self._generation
