"""Every frame is read by exactly one lane: the fresh lane, or the late lane of a gap."""

from collections import deque
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from faust.types import TP
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common.errors import TransientError
from common.records.codec import encode
from common.records.frames import FrameGap, OpenGap
from streams.runtime.backlog import Backlog, GapRule, OffsetSkipper
from streams.runtime.progress import PartitionProgress
from streams.runtime.tables import DurableTable

FRAMES = TP("frames", 3)
EVERY_MS = 1_000
AFTER_MS = 20_000


class World(DurableTable):
    """State that outlives a worker: the log with a record per second, the table, the offsets."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.clock_is_ahead_ms = 0
        self.table: dict[bytes, bytes] = {}
        self.committed = 0
        self.fresh: list[int] = []
        self.late: list[int] = []
        self.puts_that_fail: deque[bool] = deque()

    def items(self) -> list[tuple[bytes, bytes]]:
        return list(self.table.items())

    async def put(
        self, key: bytes, value: bytes | None, /, *, partition: int | None = None
    ) -> None:
        assert partition == FRAMES.partition
        arrives = self.puts_that_fail.popleft() if self.puts_that_fail else None
        if arrives is not False:
            if value is None:
                self.table.pop(key, None)
            else:
                self.table[key] = value
        if arrives is not None:
            raise TransientError("Kafka does not answer")

    def forget(self, key: bytes, /) -> None:
        del self.table[key]

    async def offset_since(self, tp: TP, unix_ms: int) -> int | None:
        offset = max(0, -(-unix_ms // EVERY_MS))
        return offset if offset < await self.end_offset(tp) else None

    async def end_offset(self, tp: TP) -> int:
        return self.now_ms // EVERY_MS


class Worker:
    """A worker that fetches, reads and commits records, and reads late ones, until it is killed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.gaps = Backlog(world)
        self.gaps.restore({FRAMES.partition})
        self.rule = GapRule(
            self.gaps,
            FRAMES.topic,
            after_ms=AFTER_MS,
            offset_since=lambda tp, unix_ms: world.offset_since(tp, unix_ms),
            end_offset=world.end_offset,
            now_ms=lambda: world.now_ms + world.clock_is_ahead_ms,
        )
        self.progress = PartitionProgress()
        self.progress.rewind(world.committed)
        app = SimpleNamespace(gaps=self.rule, rebalancing=False)
        self.passage = OffsetSkipper(app, {FRAMES: self.progress})
        self.delivered: deque[int] = deque()

    async def fetch(self, count: int) -> None:
        self.passage.pass_over(self.passage.ends([FRAMES]))
        begin = self.progress.expected_offset or 0
        end = min(begin + count, await self.world.end_offset(FRAMES))
        found: list[Any] = [
            SimpleNamespace(offset=n, timestamp=n * EVERY_MS) for n in range(begin, end)
        ]
        left, _ = await self.passage.deliverable({FRAMES: found})
        for record in left.get(FRAMES, []):
            self.progress.delivered(record.offset)
            self.delivered.append(record.offset)

    def read(self, count: int) -> None:
        for _ in range(min(count, len(self.delivered))):
            offset = self.delivered.popleft()
            assert self.gaps.at(FRAMES.partition, offset) is None
            self.world.fresh.append(offset)
            self.progress.done(offset)

    def commit(self) -> None:
        offset = self.progress.pop_committable()
        self.world.committed = max(self.world.committed, offset or 0)

    async def read_late(self, count: int) -> None:
        for gap in self.gaps.firsts():
            if self.world.committed < gap.gap.end:
                continue
            # All records before the gap have been read.
            assert set(range(gap.gap.begin)) <= {*self.world.fresh, *self.world.late}
            end = min(gap.next_offset + count, gap.gap.end)
            self.world.late += range(gap.next_offset, end)
            if end == gap.gap.end:
                await self.gaps.close(gap)
            else:
                await self.gaps.store(
                    OpenGap(
                        partition=gap.partition,
                        gap=gap.gap,
                        next_offset=end,
                        next_ms=end * EVERY_MS,
                    )
                )


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(("wait", "fetch", "read", "commit", "late", "kill", "fail", "lose")),
        st.integers(1, 60),
    ),
    max_size=60,
)


def require_order(open_gaps: Backlog) -> None:
    """Check that each gap ends before the next gap begins, both by offset and by time."""
    gaps = [each.gap for each in open_gaps.all()]
    for one, two in pairwise(gaps):
        assert one.end <= two.begin
        assert one.is_covered_by(two)
        assert not two.is_covered_by(one)


@given(ACTIONS)
@example(
    [("wait", 10), ("fetch", 10), ("wait", 50), ("fetch", 9), ("wait", 40), ("kill", 1)]
    + [("fetch", 9), ("wait", 60), ("fetch", 9)]
)
@settings(max_examples=300)
async def test_each_frame_is_read_by_one_lane(actions: list[tuple[str, int]]) -> None:
    world, again = World(), set[int]()
    worker = Worker(world)
    for action, count in [*actions, *[("end", 1000)] * 20]:
        try:
            match action:
                case "wait":
                    world.now_ms += count * EVERY_MS
                case "fetch":
                    await worker.fetch(count)
                case "read":
                    worker.read(count)
                case "commit":
                    worker.commit()
                case "late":
                    await worker.read_late(count)
                case "kill":
                    # Records that were read but not committed are repeated; tracking skips them.
                    again |= {offset for offset in world.fresh if offset >= world.committed}
                    worker = Worker(world)
                case "fail" | "lose":
                    world.puts_that_fail.append(action == "fail")
                case "end":
                    await worker.fetch(count)
                    worker.read(count)
                    worker.commit()
                    await worker.read_late(count)
        except TransientError:
            continue
        finally:
            require_order(worker.gaps)
    every = set(range(world.now_ms // EVERY_MS))
    assert {*world.fresh, *world.late} == every
    assert set(world.fresh) & set(world.late) <= again
    assert not world.table


async def test_after_an_outage_it_goes_on_with_the_newest_frames() -> None:
    world = World()
    world.now_ms = 300_500
    worker = Worker(world)
    await worker.fetch(10)
    (gap,) = worker.gaps.all()
    assert gap.gap == FrameGap(begin=0, end=299, end_ms=298_500)
    assert (gap.left, gap.next_ms, worker.gaps.oldest_age_ms(world.now_ms)) == (299, 0, 300_500)
    await worker.fetch(10)
    assert list(worker.delivered) == [299]
    # Records left for later are committed immediately if no earlier record is in progress.
    worker.commit()
    assert world.committed == 299


async def test_a_gap_in_front_of_another_ends_where_that_begins_by_time_too() -> None:
    world = World()
    world.now_ms = 10_000
    worker = Worker(world)
    await worker.fetch(10)
    world.now_ms = 60_500
    await worker.fetch(10)
    world.now_ms = 100_500
    worker = Worker(world)
    await worker.fetch(10)
    first, second = worker.gaps.all()
    assert first.gap == FrameGap(begin=0, end=10, end_ms=10_000)
    assert second.gap == FrameGap(begin=10, end=59, end_ms=58_500)


async def test_frames_that_look_old_by_a_slow_clock_are_read_at_once() -> None:
    world = World()
    world.now_ms, world.clock_is_ahead_ms = 15_000, 100_000
    worker = Worker(world)
    await worker.fetch(100)
    assert list(worker.delivered) == list(range(15))


@pytest.mark.parametrize("newer", [10, 9], ids=["this one", "one before"])
async def test_newer_records_before_one_that_looks_old_are_of_a_host_with_another_clock(
    newer: int,
) -> None:
    world, looks = World(), list[int]()
    world.now_ms = 300_000

    async def offset_since(tp: TP, unix_ms: int) -> int | None:
        looks.append(unix_ms)
        return newer

    rule = Worker(world).rule
    world.offset_since = offset_since  # type: ignore[method-assign]
    for _ in range(2):
        assert not await rule.opens(FRAMES, 10, 270_000)
    assert looks == [290_000]
    assert not world.table


async def test_what_is_written_while_partitions_move_is_not_in_the_next_book() -> None:
    world = World()
    gaps = Backlog(world)
    place = FrameGap(begin=1, end=5, end_ms=7)
    gap = OpenGap(partition=FRAMES.partition, gap=place, next_offset=2, next_ms=0)
    put = world.put

    async def move(key: bytes, value: bytes | None, /, *, partition: int | None = None) -> None:
        await put(key, value, partition=partition)
        gaps.restore({FRAMES.partition + 1})

    world.put = move  # type: ignore[method-assign]
    await gaps.store(gap)
    assert not gaps.all()
    assert not gaps.has_any.is_set()


async def test_records_before_a_gap_that_a_fetch_leaves_out_are_fetched_again() -> None:
    world = World()
    world.now_ms = 300_500
    await Worker(world).fetch(10)
    worker = Worker(world)
    worker.progress.rewind(-5)
    stale: list[Any] = [SimpleNamespace(offset=3, timestamp=0)]
    for expected in (-5, 3):
        assert await worker.passage.deliverable({FRAMES: stale}) == ({}, {FRAMES})
        assert worker.progress.expected_offset == expected


async def test_a_partition_of_another_topic_has_no_gaps() -> None:
    world = World()
    world.now_ms = 300_000
    passage, readings = Worker(world).passage, TP("readings", FRAMES.partition)
    old: list[Any] = [SimpleNamespace(offset=0, timestamp=0)]
    assert await passage.deliverable({readings: old}) == ({readings: old}, set())
    assert await passage.deliverable({FRAMES: old}) == ({}, {FRAMES})
    assert passage.ends([readings]) == {}


def test_gaps_of_partitions_that_are_others_now_are_forgotten() -> None:
    world = World()
    gap = FrameGap(begin=1, end=5, end_ms=7)
    for partition in (3, 4):
        kept = OpenGap(partition=partition, gap=gap, next_offset=2, next_ms=0)
        world.table[b"%d" % partition] = encode(kept)
    gaps = Backlog(world)
    gaps.restore({4})
    assert [g.partition for g in gaps.all()] == [4]
    assert list(world.table) == [b"4"]
    assert gaps.has_any.is_set()


def test_the_oldest_gap_comes_first_and_the_later_ones_of_its_partition_with_it() -> None:
    def gap(partition: int, begin: int, next_ms: int) -> OpenGap:
        place = FrameGap(begin=begin, end=begin + 10, end_ms=0)
        return OpenGap(partition=partition, gap=place, next_offset=begin, next_ms=next_ms)

    early, late, other = gap(1, 0, 500), gap(1, 50, 900), gap(2, 7, 100)
    world = World()
    world.table = {b"%d" % n: encode(each) for n, each in enumerate((late, other, early))}
    gaps = Backlog(world)
    gaps.restore({1, 2})
    assert gaps.firsts() == [other, early]
    assert gaps.since(early) == (early.gap, late.gap)
    assert gaps.before(1, 59) == (early.gap,)
    assert gaps.before(1, 60) == (early.gap, late.gap)
    assert (gaps.after(1, 10), gaps.after(1, 50)) == (late, None)
    assert (gaps.at(1, 9), gaps.at(1, 10)) == (early.gap, None)
