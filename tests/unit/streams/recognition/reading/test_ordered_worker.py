"""In a rebalance, no reading may overtake an earlier reading that was cancelled."""

import asyncio
import random
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from common.errors import TransientError
from common.records.codec import encode
from common.records.frames import FRAME_META_HEADER, FrameKind, FrameMeta
from common.records.recognitions import FrameReadings, PlateReading
from recognition.workers.pool import RecognizerPool
from recognition.workers.protocol import ImageReadings
from streams.recognition.frame_store import FrameCache
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.reading.agent import ReadingAgent
from streams.recognition.reading.fair_share import FairShare
from streams.recognition.reading.late_pace import LatePace
from streams.recognition.reading.ordered_worker import (
    OrderedFrameWorker,
    OrderedTaskPool,
    QueuePosition,
)
from streams.runtime.app import Event
from tests.unit.streams.recognition.builders import CAMERA, HEIGHT_PX, START_MS, WIDTH_PX, reading
from tests.unit.streams.recognition.builders import plates as plates_of
from tests.unit.streams.recognition.builders import play as play_tracking
from tests.unit.streams.runtime.fakes import FakeApp, event, guard_of

# Two vehicles with one confident reading each, followed by silence until both passes end.
PLATES = {0: (reading("AB123CD", x=100),), 1: (reading("XY987ZW", x=1500),)}
END = 2


def frame_event(offset: int, partition: int = 3) -> Event:
    kind = FrameKind.TICK if offset == END else FrameKind.FRAME
    meta = FrameMeta(
        kind=kind,
        camera_id=CAMERA,
        owner_id=UUID(int=1),
        camera_name="Gate",
        captured_ms=START_MS + (5000 if offset == END else 200 * offset),
        width_px=WIDTH_PX,
        height_px=HEIGHT_PX,
        min_plate_width_px=0,
        zones=(),
    )
    return event(
        offset, b"%d" % offset, headers={FRAME_META_HEADER: encode(meta)}, partition=partition
    )


class Topic:
    """The readings topic. Without ``takes``, a publication waits and then fails."""

    def __init__(self) -> None:
        self.records: list[FrameReadings] = []
        self.takes = True
        self.asked = asyncio.Event()
        self.refuse = asyncio.Event()

    async def publish(self, _: bytes, record: FrameReadings) -> None:
        if not self.takes:
            self.asked.set()
            await self.refuse.wait()
            raise TransientError("Kafka is unavailable")
        self.records.append(record)

    def tracked_plates(self) -> set[str]:
        _, passes = play_tracking(self.records)
        return set(plates_of(passes))


class Pool(RecognizerPool):
    """Returns readings from :data:`PLATES`."""

    def __init__(self) -> None: ...

    async def read_image(self, data: bytes, **_: Any) -> ImageReadings:
        found: tuple[PlateReading, ...] = PLATES[int(data)]
        return ImageReadings(found, WIDTH_PX, HEIGHT_PX, 1.0)


class Worker:
    """The reading agent of a process."""

    def __init__(self, topic: Topic) -> None:
        self.app = FakeApp()
        self.tasks = OrderedTaskPool(8)
        reading_rules = ReadingAgent(
            pool=Pool(),
            cache=FrameCache(1000),
            state_of=lambda _: None,
            publish=topic.publish,
            metrics=RecognitionMetrics(),
            fair_share=FairShare(lambda: 0.0, readers=1, is_busy=lambda: False),
            track_end_ms=2_000,
            late_pace=LatePace(60_000),
            now_ms=lambda: START_MS,
        )
        self.worker = OrderedFrameWorker(self.tasks, guard_of(self.app), reading_rules)

    async def submit(self, *events: Event) -> None:
        self.app.deliver(*events)
        for each in events:
            await self.worker.submit(each)


async def until_idle(tasks: OrderedTaskPool) -> None:
    for _ in range(10_000):
        if not tasks.running:
            return
        await asyncio.sleep(0)
    raise AssertionError("work is still in flight")


async def _until_both_are_in_flight(topic: Topic) -> None:
    await topic.asked.wait()
    # The second frame has been read and awaits its turn; both passed the check at the start.
    for _ in range(50):
        await asyncio.sleep(0)


async def test_no_reading_overtakes_one_that_a_rebalance_made_give_up() -> None:
    topic = Topic()
    old, new = Worker(topic), Worker(topic)

    topic.takes = False
    await old.submit(frame_event(0), frame_event(1))
    await _until_both_are_in_flight(topic)
    old.app.is_leaving = True
    topic.takes = True
    topic.refuse.set()
    await until_idle(old.tasks)
    await new.submit(frame_event(0), frame_event(1), frame_event(END))
    await until_idle(new.tasks)

    assert old.app.released == []
    assert [record.frame.offset for record in topic.records] == [0, 1, END]
    assert topic.tracked_plates() == {"AB123CD", "XY987ZW"}


@pytest.mark.parametrize(("partition", "published"), [(1, []), (2, [2])])
async def test_a_cancelled_frame_stops_its_partition_and_no_other(
    partition: int, published: list[int]
) -> None:
    topic = Topic()
    worker = Worker(topic)

    topic.takes = False
    await worker.submit(frame_event(0, partition=1))
    await topic.asked.wait()
    worker.app.is_leaving = True
    topic.refuse.set()
    await until_idle(worker.tasks)
    worker.app.is_leaving = False
    topic.takes = True
    await worker.submit(frame_event(1, partition=partition))
    await until_idle(worker.tasks)

    assert bool(worker.app.released) is bool(published)
    assert [record.frame.partition for record in topic.records] == published


async def test_results_leave_in_order_whatever_the_work_takes() -> None:
    tasks, out = OrderedTaskPool(8), list[int]()
    chance = random.Random(1)

    async def work(number: int, turn: QueuePosition) -> None:
        for _ in range(chance.randrange(20)):
            await asyncio.sleep(0)
        await turn.wait()
        out.append(number)

    for number in range(100):
        await tasks.submit(0, partial(work, number))
    await until_idle(tasks)
    assert out == list(range(100))


async def test_partitions_do_not_wait_for_each_other() -> None:
    tasks, out, gate = OrderedTaskPool(4), list[int](), asyncio.Event()

    async def work(partition: int, turn: QueuePosition) -> None:
        if partition == 0:
            await gate.wait()
        await turn.wait()
        out.append(partition)

    for partition in (0, 1, 1):
        await tasks.submit(partition, partial(work, partition))
    for _ in range(20):
        await asyncio.sleep(0)
    assert out == [1, 1]
    gate.set()
    await until_idle(tasks)
    assert out == [1, 1, 0]


async def test_no_more_than_its_size_is_in_flight() -> None:
    tasks, gate, peak = OrderedTaskPool(3), asyncio.Event(), 0

    async def work(_: QueuePosition) -> None:
        nonlocal peak
        peak = max(peak, tasks.running)
        await gate.wait()

    async def submit_all() -> None:
        for _ in range(10):
            await tasks.submit(0, work)

    submitting = asyncio.create_task(submit_all())
    for _ in range(50):
        await asyncio.sleep(0)
    assert tasks.running == 3
    gate.set()
    await submitting
    await until_idle(tasks)
    assert peak == 3


async def test_who_waits_for_its_turn_alone_keeps_no_room_from_others() -> None:
    tasks, out, gate, started = OrderedTaskPool(1), list[int](), asyncio.Event(), list[int]()

    async def work(number: int, turn: QueuePosition) -> None:
        started.append(number)
        if number == 0:
            tasks.release(turn)
            await gate.wait()
        await turn.wait()
        out.append(number)

    await tasks.submit(0, partial(work, 0))
    async with asyncio.timeout(5):
        await tasks.submit(0, partial(work, 1))
    await asyncio.sleep(0)
    # The released capacity is used again.
    assert started == [0, 1]
    assert tasks.is_full
    gate.set()
    await until_idle(tasks)
    assert out == [0, 1]
    assert not tasks.is_full


async def test_how_many_wait_without_room_is_bounded() -> None:
    tasks, gate, started = OrderedTaskPool(1), asyncio.Event(), 0

    async def work(turn: QueuePosition) -> None:
        nonlocal started
        started += 1
        tasks.release(turn)
        await gate.wait()
        await turn.wait()

    async def submit_all() -> None:
        for _ in range(100):
            await tasks.submit(0, work)

    submitting = asyncio.create_task(submit_all())
    for _ in range(300):
        await asyncio.sleep(0)
    assert started == 65
    gate.set()
    await submitting
    await until_idle(tasks)
    assert started == 100


async def test_work_that_fails_lets_the_next_one_go() -> None:
    tasks, out = OrderedTaskPool(2), list[int]()

    async def fail(_: QueuePosition) -> None:
        raise RuntimeError("must not happen, and must not stall the partition")

    async def work(turn: QueuePosition) -> None:
        await turn.wait()
        out.append(1)

    await tasks.submit(0, fail)
    await tasks.submit(0, work)
    await until_idle(tasks)
    assert out == [1]


async def test_close_cancels_what_is_in_flight() -> None:
    tasks, cancelled = OrderedTaskPool(2), list[str]()

    async def work(turn: QueuePosition) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("yes")
            raise

    await tasks.submit(0, work)
    await tasks.submit(0, work)
    await asyncio.sleep(0)
    await tasks.close()
    assert cancelled == ["yes", "yes"]
    assert tasks.running == 0


async def test_a_turn_comes_once_those_before_are_over() -> None:
    first = QueuePosition(None)
    second = QueuePosition(first)
    waiting = asyncio.create_task(second.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    async with first:
        pass
    await waiting
