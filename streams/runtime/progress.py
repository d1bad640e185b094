"""Tracks the progress of partitions: the offsets that may be committed, and stalls. No I/O."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, TypeVar


class PartitionProgress:
    """Tracks which records delivered from one partition are processed.

    An offset may be committed only when every record delivered before it is processed. Holes in the
    log (compaction, retention, transaction markers) are never delivered, so they block nothing. A
    record is processed when the stage reports so, not when Faust's stream releases it, because
    Faust also releases a record whose handler raised an error or that a rebalance skipped.
    """

    def __init__(self) -> None:
        self.expected_offset: int | None = None
        """The offset of the next record, or ``None`` if it is not known yet."""
        # Whether each delivered offset is processed, in the order of delivery.
        self._open: dict[int, bool] = {}
        # The unprocessed offsets, also in the order of delivery.
        self._undone: dict[int, None] = {}

    @property
    def in_flight(self) -> int:
        """The number of delivered records that :meth:`pop_committable` has not covered yet."""
        return len(self._open)

    def delivered(self, offset: int) -> None:
        """Record that ``offset`` was delivered. A lower offset than the last offset is a rewind."""
        while self._open and next(reversed(self._open)) >= offset:
            self._undone.pop(self._open.popitem()[0], None)
        self._open[offset] = False
        self._undone[offset] = None
        self.expected_offset = offset + 1

    def done(self, offset: int) -> None:
        """Record that the stage has completely processed the record at ``offset``."""
        if offset in self._open:
            self._open[offset] = True
            self._undone.pop(offset, None)

    def is_next(self, offset: int) -> bool:
        """Return whether ``offset`` is the first delivered offset that is not processed yet."""
        return next(iter(self._undone), None) == offset

    def pass_over(self, offset: int) -> None:
        """Continue at ``offset``. Another lane handles the undelivered records before ``offset``.

        These records count as processed, so ``offset`` is committed even if no record follows.
        """
        self._open[offset - 1] = True
        self.expected_offset = offset

    def rewind(self, offset: int | None) -> None:
        """Drop all records in flight, because reading starts again at ``offset``."""
        self._open.clear()
        self._undone.clear()
        self.expected_offset = offset

    def pop_committable(self) -> int | None:
        """Return the offset after the leading processed records, or ``None`` if there are none.

        The processed records are dropped, so each offset is returned only once.
        """
        finished = list(takewhile(self._open.__getitem__, self._open))
        for offset in finished:
            del self._open[offset]
        return finished[-1] + 1 if finished else None


K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class Position:
    """The position up to which a partition is processed, and its end. Both are next offsets."""

    done: int
    end: int

    @property
    def lag(self) -> int:
        """The number of records that are waiting or in flight."""
        return max(0, self.end - self.done)


class StallDetector(Generic[K]):
    """Finds the partitions that have lag and have made no progress for too long."""

    def __init__(self, stall_seconds: float) -> None:
        self._stall_seconds = stall_seconds
        self._done: dict[K, int] = {}
        self._moved_at_seconds: dict[K, float] = {}

    def observe(self, now_seconds: float, positions: Mapping[K, Position]) -> tuple[K, ...]:
        """Record the positions and return the stalled partitions."""
        for gone in self._done.keys() - positions.keys():
            del self._done[gone], self._moved_at_seconds[gone]
        return tuple(
            partition
            for partition, position in positions.items()
            if self._is_stalled(now_seconds, partition, position)
        )

    def reset(self, now_seconds: float) -> None:
        """Restart all timers, because the cause of the stall is outside the stage."""
        for partition in self._moved_at_seconds:
            self._moved_at_seconds[partition] = now_seconds

    def _is_stalled(self, now_seconds: float, partition: K, position: Position) -> bool:
        if position.lag == 0 or self._done.get(partition) != position.done:
            self._done[partition] = position.done
            self._moved_at_seconds[partition] = now_seconds
        return now_seconds - self._moved_at_seconds[partition] >= self._stall_seconds
