"""Which offset of a partition may be committed. Pure."""

from itertools import takewhile


class PartitionProgress:
    """What was delivered from one partition and what of it is done.

    An offset may be committed only when every record delivered before it is done; holes in the log
    (compaction, retention, transaction markers) are never delivered and so never in the way. A
    record is done when the stage says so, not when Faust's stream lets go of it, because Faust also
    lets go of a record whose handler raised or that a rebalance skipped.
    """

    def __init__(self) -> None:
        self.expected_offset: int | None = None
        """Where the next record should be; ``None`` before anything is known."""
        # Offset -> done, in the order of delivery.
        self._open: dict[int, bool] = {}
        # Those of them that are not done, in the same order.
        self._undone: dict[int, None] = {}

    @property
    def in_flight(self) -> int:
        """How many records were delivered and are not yet covered by :meth:`take_committable`."""
        return len(self._open)

    def delivered(self, offset: int) -> None:
        """Record that ``offset`` goes to the stage; a lower offset than before is a rewind."""
        while self._open and next(reversed(self._open)) >= offset:
            self._undone.pop(self._open.popitem()[0], None)
        self._open[offset] = False
        self._undone[offset] = None
        self.expected_offset = offset + 1

    def done(self, offset: int) -> None:
        """Record that the stage has finished with ``offset``, for good."""
        if offset in self._open:
            self._open[offset] = True
            self._undone.pop(offset, None)

    def is_next(self, offset: int) -> bool:
        """Return whether all that was delivered before ``offset`` is done, and it is not."""
        return next(iter(self._undone), None) == offset

    def rewind(self, offset: int | None) -> None:
        """Forget all that is in flight: reading starts again at ``offset``."""
        self._open.clear()
        self._undone.clear()
        self.expected_offset = offset

    def take_committable(self) -> int | None:
        """Return the offset after the finished head of what was delivered, ``None`` if it is bare.

        The finished head is forgotten, so the same offset is returned once.
        """
        finished = list(takewhile(self._open.__getitem__, self._open))
        for offset in finished:
            del self._open[offset]
        return finished[-1] + 1 if finished else None
