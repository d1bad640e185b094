"""Manages gaps: ranges of records that are skipped because they are too old, and are read later.

A gap is stored in the table of gaps (with a compacted changelog on Kafka) before any record after
the gap is read or committed. From then on, only the stage's late lane reads the records of the gap,
even after a crash. The gaps of a partition do not overlap, and are read in order.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import structlog
from faust.types import TP

from common.errors import TransientError
from common.records.codec import encode
from common.records.frames import FrameGap, OpenGap
from streams.runtime.progress import PartitionProgress
from streams.runtime.tables import DurableTable

log = structlog.get_logger()

_LEAD_MS = 2_000
"""Reading resumes at records of this age, so that vehicles are read from the start."""
_CHECK_MS = 1_000


class Backlog:
    """The open gaps of one worker, in a table and in memory. Not thread-safe."""

    def __init__(self, table: DurableTable) -> None:
        """The changelog of ``table`` must have as many partitions as the topic."""
        self._table = table
        self._open: dict[int, list[OpenGap]] = {}
        self.generation = 0
        """Number of the current assignment. Earlier gaps may now belong to another worker."""
        self.has_any = asyncio.Event()

    def restore(self, partitions: Collection[int]) -> None:
        """Load the gaps of this worker's partitions from the table."""
        self.generation += 1
        self._open.clear()
        for _, gap in self._table.retain(OpenGap, lambda each: each.partition, partitions):
            self._replace(gap, gap)
        self._update_has_any()
        if found := self.all():
            log.info("backlogs_restored", count=len(found), frames=sum(gap.left for gap in found))

    async def store(self, gap: OpenGap) -> None:
        """Store a gap, or the progress of reading a gap; return once Kafka has stored the record.

        Raises:
            TransientError: Kafka did not acknowledge the record.
        """
        await self._write(gap, gap)

    async def close(self, gap: OpenGap) -> None:
        """Delete a gap; return once Kafka has stored the deletion.

        Raises:
            TransientError: Kafka did not acknowledge the record.
        """
        await self._write(gap, None)

    def all(self) -> list[OpenGap]:
        """Return all gaps. The gaps of each partition are in order."""
        return [gap for gaps in self._open.values() for gap in gaps]

    def firsts(self) -> list[OpenGap]:
        """Return the first gap of each partition. The gap with the oldest next record is first."""
        found = [gaps[0] for gaps in self._open.values() if gaps]
        return sorted(found, key=lambda gap: gap.next_ms)

    def at(self, partition: int, offset: int) -> FrameGap | None:
        """Return the gap that contains an offset, or None if there is none."""
        gaps = (each.gap for each in self._open.get(partition, ()))
        return next((gap for gap in gaps if gap.begin <= offset < gap.end), None)

    def after(self, partition: int, offset: int) -> OpenGap | None:
        """Return the next gap that begins after an offset, or None if there is none."""
        return next((g for g in self._open.get(partition, ()) if g.gap.begin > offset), None)

    def before(self, partition: int, offset: int) -> tuple[FrameGap, ...]:
        """Return the gaps that end at or before an offset, in order."""
        return tuple(g.gap for g in self._open.get(partition, ()) if g.gap.end <= offset)

    def since(self, gap: OpenGap) -> tuple[FrameGap, ...]:
        """Return a gap and the following gaps of the same partition, in order."""
        gaps = self._open.get(gap.partition, ())
        return tuple(g.gap for g in gaps if g.gap.begin >= gap.gap.begin)

    def oldest_age_ms(self, now_ms: int) -> int:
        """Return the age of the oldest record that must be read late, or 0 if there is no gap."""
        return max([0, *(now_ms - gap.next_ms for gap in self.firsts()[:1])])

    async def _write(self, gap: OpenGap, after: OpenGap | None) -> None:
        generation, key = self.generation, b"%d/%d" % (gap.partition, gap.gap.begin)
        value = None if after is None else encode(after)
        await self._table.put(key, value, partition=gap.partition)
        if generation == self.generation:
            self._replace(gap, after)
            self._update_has_any()

    def _replace(self, gap: OpenGap, after: OpenGap | None) -> None:
        others = [g for g in self._open.get(gap.partition, ()) if g.gap.begin != gap.gap.begin]
        gaps = others if after is None else [*others, after]
        self._open[gap.partition] = sorted(gaps, key=lambda g: g.gap.begin)

    def _update_has_any(self) -> None:
        if self.all():
            self.has_any.set()
        else:
            self.has_any.clear()


class GapRule:
    """Decides where a gap begins. If the next record is too old, reading skips to near the end."""

    def __init__(
        self,
        gaps: Backlog,
        topic: str,
        *,
        after_ms: int,
        offset_since: Callable[[TP, int], Awaitable[int | None]],
        end_offset: Callable[[TP], Awaitable[int]],
        now_ms: Callable[[], int],
    ) -> None:
        """A record is too old if the log contains records that are at least ``after_ms`` newer.

        ``offset_since`` and ``end_offset`` are the methods of the stage's app.
        """
        self._offset_since = offset_since
        self._end_offset = end_offset
        self.gaps = gaps
        self.topic = topic
        self._after_ms = after_ms
        self._now_ms = now_ms
        self._checked_ms: dict[TP, int] = {}

    async def opens(self, tp: TP, offset: int, written_ms: int) -> bool:
        """Return whether a gap begins at a partition's next record, written at ``written_ms``.

        Before True is returned, the gap is stored.

        Raises:
            TransientError: Kafka is not responding, or did not acknowledge the gap.
        """
        now_ms = self._now_ms()
        if now_ms - written_ms <= self._after_ms:
            return False
        if now_ms - self._checked_ms.get(tp, 0) < _CHECK_MS:
            return False
        gap = await self._gap_at(tp, offset, written_ms, now_ms)
        if gap is None:
            self._checked_ms[tp] = now_ms
            return False
        await self.gaps.store(
            OpenGap(partition=tp.partition, gap=gap, next_offset=offset, next_ms=written_ms)
        )
        log.warning("frames_deferred", partition=tp.partition, count=gap.end - offset)
        return True

    async def _gap_at(self, tp: TP, offset: int, written_ms: int, now_ms: int) -> FrameGap | None:
        # Compare times of the log only: if this host's clock is ahead, all records look old.
        # Earlier records can have later times if they come from hosts whose clocks differ.
        newer = await self._offset_since(tp, written_ms + self._after_ms)
        if newer is None or newer <= offset:
            return None
        end_ms = now_ms - _LEAD_MS
        end = await self._offset_since(tp, end_ms)
        if end is None:
            end, end_ms = await self._end_offset(tp), now_ms
        following = self.gaps.after(tp.partition, offset)
        if following is not None:
            # This gap was stored by a worker that had read further, so its times are later, too.
            end = min(end, following.gap.begin)
            end_ms = min(end_ms, following.next_ms, following.gap.end_ms)
        # Keep the order even if the clock was set back.
        end_ms = max([end_ms, *(gap.end_ms for gap in self.gaps.before(tp.partition, offset))])
        return FrameGap(begin=offset, end=end, end_ms=end_ms) if end > offset else None


class OffsetSkipper:
    """Moves a consumer past gaps. Records of a gap are never delivered, even after a crash."""

    def __init__(self, app: Any, progress: Mapping[TP, PartitionProgress]) -> None:
        """``app`` is a :class:`streams.runtime.app.StageApp`, whose module imports this module."""
        self._app = app
        self._progress = progress
        self._noting = asyncio.Lock()
        self._sought: dict[TP, int] = {}

    async def wait_until_stored(self) -> None:
        """Return once no gap is being stored. During a rebalance, no gap is started.

        If a worker stored a gap after losing the partition, the gap would apply to the next owner,
        which may already have read the records of the gap.
        """
        async with self._noting:
            return

    def ends(self, wanted: Collection[TP]) -> dict[TP, int]:
        """Return the ends of the gaps that begin at the current positions of partitions."""
        rule: GapRule | None = self._app.gaps
        found: dict[TP, int] = {}
        for tp in wanted:
            expected = self.expected(tp)
            if rule is not None and tp.topic == rule.topic and expected is not None:
                gap = rule.gaps.at(tp.partition, expected)
                if gap is not None:
                    found[tp] = gap.end
        return found

    def within(self, ends: Mapping[TP, int], log_ends: Mapping[TP, int]) -> dict[TP, int]:
        """Return the offsets to seek to: the end of each gap or, if earlier, the end of the log.

        Partitions that are already at that offset are omitted.
        """
        reached = {tp: min(end, log_ends[tp]) for tp, end in ends.items()}
        return {tp: end for tp, end in reached.items() if end > (self.expected(tp) or 0)}

    def pass_over(self, ends: Mapping[TP, int]) -> None:
        """Record that reading resumes at the ends of gaps."""
        for tp, end in ends.items():
            # The partition may have been revoked during the seek.
            if tp in self._progress:
                self._progress[tp].pass_over(end)

    async def deliverable(
        self, records: Mapping[TP, list[Any]]
    ) -> tuple[dict[TP, list[Any]], set[TP]]:
        """Return the records outside gaps, and the partitions whose next record is in a gap.

        These partitions deliver no records until the consumer has been moved past their gaps.
        """
        rule: GapRule | None = self._app.gaps
        left: dict[TP, list[Any]] = {}
        in_gaps: set[TP] = set()
        for tp, found in records.items():
            if rule is None or tp.topic != rule.topic or not found:
                left[tp] = found
            elif await self._begins_in_gap(rule, tp, found[0]):
                in_gaps.add(tp)
            else:
                following = rule.gaps.after(tp.partition, found[0].offset)
                begin = None if following is None else following.gap.begin
                left[tp] = found if begin is None else [r for r in found if r.offset < begin]
        return left, in_gaps

    async def _begins_in_gap(self, rule: GapRule, tp: TP, record: Any) -> bool:
        expected = self.expected(tp)
        if rule.gaps.at(tp.partition, record.offset) is not None:
            if expected is not None and expected < record.offset:
                self._pass_hole(tp, expected, record.offset)
            return True
        begin = record.offset if expected is None else expected
        if record.offset < begin:
            return False
        try:
            async with self._noting:
                return self._app.rebalancing or await rule.opens(tp, begin, record.timestamp)
        except TransientError as error:
            log.warning("backlog_not_recorded", partition=str(tp), error=str(error))
            return True

    def _pass_hole(self, tp: TP, expected: int, offset: int) -> None:
        """Skip records that are missing before a gap if a second fetch has not returned them."""
        if self._sought.get(tp) == expected:
            self._progress[tp].pass_over(offset)
        self._sought[tp] = expected

    def expected(self, tp: TP) -> int | None:
        """Return the offset of a partition's next record, or None if it is not known yet."""
        return self._progress[tp].expected_offset if tp in self._progress else None
