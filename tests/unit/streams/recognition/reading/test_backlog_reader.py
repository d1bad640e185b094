"""Backlogs are read in the time that fresh frames leave, and every lost frame is counted."""

import asyncio
from typing import cast
from uuid import UUID

import faust
import pytest
from faust.types import TP
from prometheus_client import CollectorRegistry

from common.errors import InvalidInputError, TransientError
from common.records.codec import encode
from common.records.frames import (
    FRAME_META_HEADER,
    FrameGap,
    FrameKind,
    FrameMeta,
    FrameReference,
    OpenGap,
)
from common.records.recognitions import FrameReadings
from recognition.analysis_hints import NOTHING_KNOWN
from recognition.workers.protocol import ImageReadings
from streams.recognition.frame_store import FrameChunk, FrameLog, FrameRecord
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.reading.agent import (
    POISON_FRAME,
    FrameResult,
    PoisonFrameError,
    ReadingAgent,
)
from streams.recognition.reading.analysis_plan import AnalysisPlan
from streams.recognition.reading.backlog_reader import BacklogReader
from streams.runtime.app import StageApp, StageMetrics
from streams.runtime.backlog import Backlog
from streams.runtime.tables import DurableTable

PARTITION = 3
CAMERA = UUID(int=7)
BEGIN_MS = 1_790_000_000_000
EVERY_MS = 200
PAST_END_MS = 4_000
PIECE = 16


class World(DurableTable):
    """The log with a frame every 0.2 s, and the operations of the late lane."""

    is_leaving = False

    def __init__(self, *, begin: int = 10, end: int = 50, until: int = 100) -> None:
        self.first, self.end = 0, until
        self.now_ms = BEGIN_MS + 300_000
        self.committed: int | None = end
        self.table: dict[bytes, bytes] = {}
        self.gaps = Backlog(self)
        place = FrameGap(begin=begin, end=end, end_ms=BEGIN_MS + end * EVERY_MS)
        gap = OpenGap(partition=PARTITION, gap=place, next_offset=begin, next_ms=BEGIN_MS)
        self.table[b"a"] = encode(gap)
        self.gaps.restore({PARTITION})
        self.partitions = frozenset({PARTITION})
        self.published: list[FrameReadings] = []
        self.rejected: list[tuple[int, str]] = []
        self.analysed: list[int] = []
        self.kept_as: set[bytes] = set()
        self.broken: dict[int, bytes] = {}
        self.poison: set[int] = set()
        self.metrics = StageMetrics()
        self.leave_at: int | None = None
        self.registry = CollectorRegistry()
        self.lane_metrics = RecognitionMetrics(self.registry)

    def items(self) -> list[tuple[bytes, bytes]]:
        return list(self.table.items())

    async def put(
        self, key: bytes, value: bytes | None, /, *, partition: int | None = None
    ) -> None:
        if value is None:
            self.table.pop(key, None)
        else:
            self.table[key] = value

    def forget(self, key: bytes, /) -> None:
        self.table.pop(key, None)

    async def committed_offset(self, tp: TP) -> int | None:
        assert tp == TP("frames", PARTITION)
        return self.committed

    def own_partitions(self, topic: object) -> frozenset[int]:
        return self.partitions

    def get_topic_name(self) -> str:
        return "frames"

    def gone(self) -> float | None:
        labels = {"topic": "frames", "partition": str(PARTITION)}
        name = "platestream_stream_messages_expired_total"
        return self.metrics.registry.get_sample_value(name, labels)

    async def fetch(self, partition: int, offset: int) -> FrameChunk:
        begin = max(offset, self.first)
        found = [self.record(n) for n in range(begin, min(begin + PIECE, self.end))]
        return FrameChunk(tuple(found), self.first, self.end)

    async def close(self) -> None: ...

    def record(self, offset: int) -> FrameRecord:
        meta = FrameMeta(
            kind=FrameKind.FRAME,
            camera_id=CAMERA,
            owner_id=UUID(int=1),
            camera_name="Gate",
            captured_ms=BEGIN_MS + offset * EVERY_MS,
        )
        header = self.broken.get(offset, encode(meta))
        place = FrameReference(partition=PARTITION, offset=offset)
        return FrameRecord(
            key=b"camera",
            value=b"jpeg",
            headers={FRAME_META_HEADER: header},
            reference=place,
            written_ms=meta.captured_ms,
        )

    async def analyse(
        self, record: FrameRecord, meta: FrameMeta, plan: AnalysisPlan, kept_as: bytes
    ) -> FrameResult:
        assert plan.hints == NOTHING_KNOWN
        offset = record.reference.offset
        self.analysed.append(offset)
        self.kept_as.add(kept_as)
        if offset == self.leave_at:
            self.gaps.restore({PARTITION})
        if offset in self.poison:
            return FrameResult(poison=PoisonFrameError("every process crashes", code=POISON_FRAME))
        return FrameResult(found=ImageReadings((), 1000, 500, 12.0))

    def count(self, meta: FrameMeta, result: FrameResult, *, is_late: bool) -> None:
        assert is_late

    async def publish(self, key: bytes, record: FrameReadings) -> None:
        self.published.append(record)

    async def reject(self, record: FrameRecord, error: InvalidInputError) -> None:
        self.rejected.append((record.reference.offset, error.code))

    def lane(self) -> BacklogReader:
        return BacklogReader(
            app=cast(StageApp, self),
            topic=cast(faust.TopicT, self),
            gaps=self.gaps,
            frames=cast(FrameLog, self),
            reading=cast(ReadingAgent, self),
            publish=self.publish,
            reject=self.reject,
            has_capacity=lambda: True,
            metrics=self.lane_metrics,
            past_end_ms=PAST_END_MS,
            now_ms=lambda: self.now_ms,
        )

    async def read_all(self) -> None:
        lane = self.lane()
        while await lane.read_chunk():
            pass

    @property
    def offsets(self) -> list[int]:
        return [r.frame.offset for r in self.published if r.kind is FrameKind.FRAME]


async def test_a_gap_is_published_late_in_order_and_closed_after_its_end() -> None:
    world = World()
    await world.read_all()
    assert world.offsets == list(range(10, 71))
    assert all(r.late and r.gaps[0].begin == 10 for r in world.published)
    assert world.analysed[:4] == [10, 12, 14, 16]
    (end,) = [r for r in world.published if r.kind is FrameKind.GAP_END]
    assert end is world.published[-1]
    assert (end.frame.partition, end.gaps[0].end) == (PARTITION, 50)
    assert not world.gaps.all()
    assert world.kept_as == {b"late/3/50/camera"}


async def test_past_the_end_as_many_frames_are_read_as_in_the_gap() -> None:
    world = World()
    await world.read_all()
    assert world.analysed == list(range(10, 71, 2))


async def test_a_gap_begins_when_all_before_it_is_committed() -> None:
    world = World()
    world.committed = 49
    await world.read_all()
    assert not world.published
    world.committed = 50
    await world.read_all()
    assert world.offsets[0] == 10


async def test_what_retention_took_is_counted() -> None:
    world = World()
    world.first = 30
    await world.read_all()
    assert world.gone() == 20
    assert world.offsets[0] == 30
    later = World()
    later.first = later.end = 1_000
    await later.read_all()
    assert later.gone() == 40
    assert [r.kind for r in later.published] == [FrameKind.GAP_END]


async def test_at_the_end_of_the_log_it_waits_for_what_may_come() -> None:
    world = World(until=50)
    world.now_ms = BEGIN_MS + 50 * EVERY_MS + PAST_END_MS
    await world.read_all()
    assert world.gaps.all()
    world.now_ms += 1
    await world.read_all()
    assert not world.gaps.all()


async def test_a_piece_that_is_cut_off_is_read_again() -> None:
    world = World()
    world.leave_at = 14
    with pytest.raises(Exception, match="partitions are being reassigned"):
        await world.read_all()
    assert [g.next_offset for g in world.gaps.all()] == [10]
    world.leave_at = None
    await world.read_all()
    assert set(world.offsets) == set(range(10, 71))


async def test_gaps_of_others_are_not_read() -> None:
    world = World()
    world.partitions = frozenset({PARTITION + 1})
    await world.read_all()
    world.partitions, world.is_leaving = frozenset({PARTITION}), True
    await world.read_all()
    assert not world.published


async def test_what_cannot_be_read_is_set_aside() -> None:
    world = World()
    world.broken, world.poison = {13: b"{"}, {20}
    await world.read_all()
    assert world.rejected == [(13, "unreadable_record"), (20, POISON_FRAME)]
    assert world.offsets == [n for n in range(10, 71) if n != 13]


async def test_while_kafka_is_unavailable_nothing_is_noted() -> None:
    world = World()

    async def fail(key: bytes, record: FrameReadings) -> None:
        raise TransientError("Kafka is unavailable")

    lane = world.lane()
    lane._publish = fail
    with pytest.raises(TransientError):
        await lane.read_chunk()
    assert [g.next_offset for g in world.gaps.all()] == [10]


async def test_what_retention_took_is_counted_once_however_often_a_piece_is_cut_off() -> None:
    world = World()
    world.first, world.leave_at = 30, 34
    with pytest.raises(Exception, match="partitions are being reassigned"):
        await world.read_all()
    assert world.gone() is None
    world.leave_at = None
    await world.read_all()
    assert world.gone() == 20


@pytest.mark.parametrize("until", [11, 10], ids=["a piece", "the end"])
async def test_nothing_is_noted_once_the_partitions_moved(until: int) -> None:
    world = World(until=until)
    lane = world.lane()
    publish = world.publish

    async def publish_and_move(key: bytes, record: FrameReadings) -> None:
        await publish(key, record)
        world.gaps.restore({PARTITION + 1})

    lane._publish = publish_and_move
    before = dict(world.table)
    with pytest.raises(Exception, match="partitions are being reassigned"):
        await lane.read_chunk()
    assert len(world.published) == 1
    assert dict(world.table) == {key: before[key] for key in world.table}
    assert not world.gaps.all()


async def test_where_the_log_lost_its_end_a_gap_is_read_again_from_there() -> None:
    world = World()
    lane = world.lane()
    await lane.read_chunk()
    assert [g.next_offset for g in world.gaps.all()] == [26]
    for committed, expected in ((5, 10), (None, 10)):
        world.committed = committed
        assert not await world.lane().read_chunk()
        assert [g.next_offset for g in world.gaps.all()] == [expected]
    world.committed = 50
    await lane.read_chunk()
    world.committed = 20
    assert not await world.lane().read_chunk()
    assert [g.next_offset for g in world.gaps.all()] == [20]


async def test_the_lane_goes_on_whatever_fails_once() -> None:
    world = World()
    lane, failures, is_idle = world.lane(), [RuntimeError("once")], asyncio.Event()
    show = lane._show

    async def close() -> None:
        is_idle.set()

    def show_or_fail() -> None:
        if failures:
            raise failures.pop()
        show()

    lane._show = show_or_fail  # type: ignore[method-assign]
    world.close = close  # type: ignore[method-assign]
    running = asyncio.create_task(lane.run())
    await asyncio.wait_for(is_idle.wait(), 20)
    assert not world.gaps.all()
    running.cancel()
