"""A rebalance in the middle of frames: no reading may overtake one that was given up."""

import asyncio
from uuid import UUID

from contracts.errors import TransientError
from contracts.frames import FRAME_META_HEADER, FrameKind, FrameMeta
from contracts.readings import FrameReadings, PlateReading
from contracts.records import encode
from recognition.pool import ImageReadings
from streams.common.app import Event
from streams.common.guard import Guard
from streams.common.retry import RetryPolicy
from streams.recognition.frame_cache import FrameCache
from streams.recognition.lanes import ReadingLanes
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.ordered_window import OrderedWindow
from streams.recognition.reading import Reading
from tests.unit.streams.common.fakes import FakeApp, event
from tests.unit.streams.recognition.builders import CAMERA, HEIGHT_PX, START_MS, WIDTH_PX, reading
from tests.unit.streams.recognition.builders import plates as plates_of
from tests.unit.streams.recognition.builders import play as play_tracking

# Two vehicles, each read once and for certain, then nothing until both are over.
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
    """The readings topic; while ``takes`` is off it takes nothing, as long as one waits for it."""

    def __init__(self) -> None:
        self.records: list[FrameReadings] = []
        self.takes = True
        self.asked = asyncio.Event()
        self.refuse = asyncio.Event()

    async def publish(self, _: bytes, record: FrameReadings) -> None:
        if not self.takes:
            self.asked.set()
            await self.refuse.wait()
            raise TransientError("Kafka is away")
        self.records.append(record)

    def tracked_plates(self) -> set[str]:
        _, passes = play_tracking(self.records)
        return set(plates_of(passes))


class Pool:
    """Reads what :data:`PLATES` says."""

    async def read_image(
        self, data: bytes, *, min_plate_width_px: int = 0, wait_seconds: float | None = None
    ) -> ImageReadings:
        found: tuple[PlateReading, ...] = PLATES[int(data)]
        return ImageReadings(found, WIDTH_PX, HEIGHT_PX, 1.0)


class Worker:
    """The reading agent of one process."""

    def __init__(self, topic: Topic) -> None:
        self.app = FakeApp()
        self.window = OrderedWindow(8)
        guard = Guard(
            self.app.as_app(),
            stage="testing",
            send_dead_letter=_no_dead_letter,
            retry=RetryPolicy(first_pause_seconds=0.001, longest_pause_seconds=0.001),
            dead_letters_per_minute=0,
            max_dead_letter_bytes=1000,
        )
        reading_rules = Reading(
            pool=Pool(),
            cache=FrameCache(1000),
            publish=topic.publish,
            metrics=RecognitionMetrics(),
            deadline_ms=60_000,
            now_ms=lambda: START_MS,
        )
        self.lanes = ReadingLanes(self.window, guard, reading_rules)

    async def submit(self, *events: Event) -> None:
        self.app.deliver(*events)
        for each in events:
            await self.lanes.submit(each)

    async def finish(self) -> None:
        for _ in range(10_000):
            if not self.window.under_way:
                return
            await asyncio.sleep(0)
        raise AssertionError("work is still under way")


async def _no_dead_letter(key: bytes | None, value: bytes) -> None:
    raise AssertionError("nothing here is a dead letter")


async def _until_both_are_under_way(topic: Topic) -> None:
    await topic.asked.wait()
    # The second has been read meanwhile and awaits its turn: both took the check at the start.
    for _ in range(50):
        await asyncio.sleep(0)


async def test_no_reading_overtakes_one_that_a_rebalance_made_give_up() -> None:
    topic = Topic()
    old, new = Worker(topic), Worker(topic)

    topic.takes = False
    await old.submit(frame_event(0), frame_event(1))
    await _until_both_are_under_way(topic)
    old.app.is_leaving = True
    topic.takes = True
    topic.refuse.set()
    await old.finish()
    await new.submit(frame_event(0), frame_event(1), frame_event(END))
    await new.finish()

    assert old.app.released == []
    assert [record.frame.offset for record in topic.records] == [0, 1, END]
    assert topic.tracked_plates() == {"AB123CD", "XY987ZW"}


async def test_frames_still_waiting_when_the_rebalance_is_over_stay_given_up() -> None:
    topic = Topic()
    worker = Worker(topic)

    topic.takes = False
    await worker.submit(frame_event(0))
    await topic.asked.wait()
    worker.app.is_leaving = True
    topic.refuse.set()
    await worker.finish()
    worker.app.is_leaving = False
    topic.takes = True
    await worker.submit(frame_event(1))
    await worker.finish()

    assert worker.app.released == []
    assert topic.records == []


async def test_a_frame_given_up_does_not_stop_other_partitions() -> None:
    topic = Topic()
    worker = Worker(topic)

    topic.takes = False
    await worker.submit(frame_event(0, partition=1))
    await topic.asked.wait()
    worker.app.is_leaving = True
    topic.refuse.set()
    await worker.finish()
    worker.app.is_leaving = False
    topic.takes = True
    await worker.submit(frame_event(1, partition=2))
    await worker.finish()

    assert [record.frame.partition for record in topic.records] == [2]
