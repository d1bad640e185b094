"""Records that are passed over when their turn comes, and read later by somebody else."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, Protocol

import structlog
from faust.types import TP

from common.errors import TransientError
from streams.runtime.progress import PartitionProgress

log = structlog.get_logger()


class LeavesGaps(Protocol):
    """A stage's rule by which records are left out of what is delivered."""

    def end_at(self, tp: TP, offset: int) -> int | None:
        """Return the end of the gap that an offset lies in, None where it lies in none."""

    def next_begin(self, tp: TP, offset: int) -> int | None:
        """Return where the next gap after an offset begins, None where there is none."""

    async def opens(self, tp: TP, offset: int, written_ms: int) -> bool:
        """Return whether a gap begins at a partition's next offset, whose record was written then.

        When this returns it is noted for good.

        Raises:
            TransientError: Kafka did not take the note.
        """


class HasGaps(Protocol):
    """The used part of the app."""

    gaps: LeavesGaps | None
    rebalancing: bool


class GapPassage:
    """Takes a consumer past gaps: what is in one is never delivered, before or after a crash."""

    def __init__(self, app: HasGaps, progress: Mapping[TP, PartitionProgress]) -> None:
        self._app = app
        self._progress = progress
        self._noting = asyncio.Lock()
        self._sought: dict[TP, int] = {}

    async def wait_until_noted(self) -> None:
        """Return when no gap is being noted; during a rebalance none is begun.

        Noted by a worker that has lost the partition it would be one for the next owner, who may
        have read its records.
        """
        async with self._noting:
            return

    def ends(self, wanted: Collection[TP]) -> dict[TP, int]:
        """Return the ends of the gaps that begin where partitions are."""
        found: dict[TP, int] = {}
        gaps = self._app.gaps
        for tp in wanted if gaps is not None else ():
            expected = self._expected(tp)
            end = None if gaps is None or expected is None else gaps.end_at(tp, expected)
            if end is not None:
                found[tp] = end
        return found

    def within(self, ends: Mapping[TP, int], log_ends: Mapping[TP, int]) -> dict[TP, int]:
        """Return how far partitions get on the way to the ends of gaps: not past their logs' ends.

        Those that are there already are left out.
        """
        reached = {tp: min(end, log_ends[tp]) for tp, end in ends.items()}
        return {tp: end for tp, end in reached.items() if end > (self._expected(tp) or 0)}

    def pass_over(self, ends: Mapping[TP, int]) -> None:
        """Note that reading goes on at the ends of gaps."""
        for tp, end in ends.items():
            # It may have been revoked meanwhile.
            if tp in self._progress:
                self._progress[tp].pass_over(end)

    async def deliverable(
        self, records: Mapping[TP, list[Any]], ours: Collection[TP]
    ) -> tuple[dict[TP, list[Any]], set[TP]]:
        """Return the records that are in no gap, and the partitions whose next record is in one.

        Of the latter nothing is delivered until they were gone past.
        """
        gaps = self._app.gaps
        if gaps is None:
            return dict(records), set()
        left: dict[TP, list[Any]] = {}
        in_gaps: set[TP] = set()
        for tp, found in records.items():
            if not found or tp not in ours:
                left[tp] = found
            elif await self._begins_in_gap(gaps, tp, found[0]):
                in_gaps.add(tp)
            else:
                begin = gaps.next_begin(tp, found[0].offset)
                left[tp] = found if begin is None else [r for r in found if r.offset < begin]
        return left, in_gaps

    async def _begins_in_gap(self, gaps: LeavesGaps, tp: TP, record: Any) -> bool:
        expected = self._expected(tp)
        if gaps.end_at(tp, record.offset) is not None:
            if expected is not None and expected < record.offset:
                self._pass_hole(tp, expected, record.offset)
            return True
        begin = record.offset if expected is None else expected
        if record.offset < begin:
            return False
        try:
            async with self._noting:
                return self._app.rebalancing or await gaps.opens(tp, begin, record.timestamp)
        except TransientError as error:
            log.warning("gap_not_noted", partition=str(tp), error=str(error))
            return True

    def _pass_hole(self, tp: TP, expected: int, offset: int) -> None:
        """Believe, once it was fetched again, that before a record in a gap nothing is left."""
        if self._sought.get(tp) == expected:
            self._progress[tp].pass_over(offset)
        self._sought[tp] = expected

    def _expected(self, tp: TP) -> int | None:
        return self._progress[tp].expected_offset if tp in self._progress else None
