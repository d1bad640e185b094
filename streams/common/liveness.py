"""Whether a stage gets on: commit progress where there is lag. Pure."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class Position:
    """How far one partition is done and how far it reaches, as offsets of the next record."""

    done: int
    end: int

    @property
    def lag(self) -> int:
        """Records that wait or are in flight."""
        return max(0, self.end - self.done)


class StallDetector(Generic[K]):
    """Says which partitions had lag and no progress for too long."""

    def __init__(self, stall_seconds: float) -> None:
        self._stall_seconds = stall_seconds
        self._done: dict[K, int] = {}
        self._moved_at_seconds: dict[K, float] = {}

    def observe(self, now_seconds: float, positions: Mapping[K, Position]) -> tuple[K, ...]:
        """Take what is known now and return the partitions that stand still."""
        for gone in self._done.keys() - positions.keys():
            del self._done[gone], self._moved_at_seconds[gone]
        return tuple(
            partition
            for partition, position in positions.items()
            if self._is_stalled(now_seconds, partition, position)
        )

    def excuse(self, now_seconds: float) -> None:
        """Start all counts anew: the standstill has a reason outside of the stage."""
        for partition in self._moved_at_seconds:
            self._moved_at_seconds[partition] = now_seconds

    def _is_stalled(self, now_seconds: float, partition: K, position: Position) -> bool:
        if position.lag == 0 or self._done.get(partition) != position.done:
            self._done[partition] = position.done
            self._moved_at_seconds[partition] = now_seconds
        return now_seconds - self._moved_at_seconds[partition] >= self._stall_seconds
