"""Records of a camera: the reported frames, with ticks in between, in order."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

import msgspec
import pytest

from common.records.cameras import CameraConfig
from common.records.counts import CaptureCounts
from common.records.frames import FrameKind, FrameMeta, Zone, ZoneKind
from ingest.capture.messages import EncodedImage, Moment, Sampled, StatusReport
from ingest.clocks import Instant
from ingest.frames.pipeline import FramePipeline, PipelineDeps
from ingest.frames.producer import FrameProducer
from ingest.frames.snapshots import Snapshot, SnapshotUploader
from ingest.metrics import IngestMetrics

START = Instant(1_800_000_000_000, 5_000.0)
CONFIG = CameraConfig(
    camera_id=UUID(int=1),
    owner_id=UUID(int=2),
    name="gate",
    stream_url_encrypted="x",
    enabled=True,
    revision=1,
    min_plate_width_px=60,
    zones=(Zone(kind=ZoneKind.EXCLUDE, points=()),),
)


@dataclass
class World:
    """The clock, threads and dependencies of a pipeline, as a test sets them."""

    instant: Instant = START
    room: bool = True
    sent: list[FrameMeta] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    on_snapshot: Callable[[Snapshot], None] | None = None
    metrics: IngestMetrics = field(default_factory=IngestMetrics)

    def services(self) -> PipelineDeps:
        return PipelineDeps(
            frames=cast("FrameProducer", self),
            snapshots=cast("SnapshotUploader", self),
            metrics=self.metrics,
            now=lambda: self.instant,
        )

    def pipeline(self) -> FramePipeline:
        pipeline = FramePipeline(CONFIG, self.services())
        pipeline.connected()
        return pipeline

    def has_capacity(self) -> bool:
        return self.room

    def send_frame(self, meta: FrameMeta, jpeg: bytes) -> bool:
        self.sent.append(meta)
        return True

    def send_end(self, meta: FrameMeta) -> None:
        self.sent.append(meta)

    def send_tick(self, meta: FrameMeta) -> None:
        self.sent.append(meta)

    def offer(self, snapshot: Snapshot) -> None:
        (self.on_snapshot or self.snapshots.append)(snapshot)

    def looked(self, *, moves: bool = True, is_snapshot: bool = False, age_ms: int = 0) -> Sampled:
        """Return a report about a frame that arrives now."""
        return Sampled(
            number=1,
            captured=Moment(arrival_seconds=self.instant.seconds, age_ms=age_ms),
            width_px=1920,
            image=EncodedImage(b"jpeg", 960, 540),
            moves=moves,
            is_snapshot=is_snapshot,
        )

    def seen(self, *, is_still: bool, holds_back: bool = False, still: int = 0) -> StatusReport:
        """Return a report that frames are arriving, and that the last frame arrived now."""
        return StatusReport(
            number=1,
            settled=Moment(arrival_seconds=self.instant.seconds, age_ms=0),
            width_px=1920,
            height_px=1080,
            decoded=10,
            still=still,
            failed=0,
            is_still=is_still,
            holds_back=holds_back,
            decoder="software",
            alive_seconds=self.instant.seconds,
        )

    def rest(self, pipeline: FramePipeline, seconds: float) -> None:
        """Simulate a scene without motion for some time."""
        for _ in range(round(seconds * 2)):
            self.instant = self.instant.later(0.5)
            pipeline.on_status(self.seen(is_still=True, still=2))
            pipeline.tick_if_silent(self.instant)

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0

    def kinds(self) -> list[FrameKind]:
        return [meta.kind for meta in self.sent]


@pytest.fixture
def world() -> World:
    return World()


def test_a_taken_camera_sends_its_clock_at_once(world: World) -> None:
    FramePipeline(CONFIG, world.services())

    assert world.kinds() == [FrameKind.TICK]
    assert world.sent[0].captured_ms == START.unix_ms


def test_a_frame_goes_out_with_what_recognition_needs(world: World) -> None:
    pipeline = world.pipeline()
    looked = world.looked(age_ms=30)
    world.instant = world.instant.later(0.5)

    pipeline.offer(looked)

    assert world.count("platestream_ingest_frames_sent_total") == 1
    assert world.sent[-1] == FrameMeta(
        kind=FrameKind.FRAME,
        camera_id=UUID(int=1),
        owner_id=UUID(int=2),
        camera_name="gate",
        # A frame is never earlier than the tick that followed the camera's assignment.
        captured_ms=START.unix_ms + 1,
        width_px=960,
        height_px=540,
        # The minimum width is scaled like the frame.
        min_plate_width_px=30,
        zones=CONFIG.zones,
        counts=CaptureCounts(since_ms=START.unix_ms, sent=1),
    )


def test_the_time_of_a_frame_is_the_workers_and_not_the_reports(world: World) -> None:
    pipeline = world.pipeline()
    world.instant = world.instant.later(10)
    looked = world.looked(age_ms=120)
    # Time until the report is processed. After a clock change, the worker's clock runs 10 % slower.
    world.instant = Instant(world.instant.unix_ms + 450, world.instant.seconds + 0.5)

    pipeline.offer(looked)

    assert world.sent[-1].captured_ms == world.instant.unix_ms - 500 - 120


def test_a_new_name_is_sent_at_once(world: World) -> None:
    pipeline = world.pipeline()
    pipeline.config = msgspec.structs.replace(CONFIG, name="new name")

    pipeline.offer(world.looked())

    assert world.sent[-1].camera_name == "new name"


def test_a_still_scene_sends_ticks_only(world: World) -> None:
    pipeline = world.pipeline()
    world.sent.clear()

    world.rest(pipeline, 10)

    assert set(world.kinds()) == {FrameKind.TICK}
    assert len(world.sent) in (9, 10)
    assert world.count("platestream_ingest_frames_without_motion_total") == 40
    assert world.count("platestream_ingest_frames_decoded_total") == 200
    assert world.instant.unix_ms - world.sent[-1].captured_ms <= 1100
    assert all(tick.still for tick in world.sent[1:])


def test_a_camera_that_sends_nothing_is_not_said_to_be_still(world: World) -> None:
    pipeline = world.pipeline()
    world.rest(pipeline, 10)
    world.sent.clear()

    for _ in range(5):
        world.instant = world.instant.later(2)
        pipeline.tick_if_silent(world.instant)
    pipeline.disconnected()

    assert [tick.still for tick in world.sent] == [True, False, False, False, False, False]


def test_the_clock_does_not_pass_frames_that_are_held_back(world: World) -> None:
    pipeline = world.pipeline()
    world.instant = world.instant.later(10)
    key_frame_ms = world.instant.unix_ms
    pipeline.on_status(world.seen(is_still=True, holds_back=True))
    world.sent.clear()
    for _ in range(6):
        world.instant = world.instant.later(1)
        pipeline.tick_if_silent(world.instant)

    assert {tick.captured_ms for tick in world.sent} == {key_frame_ms}
    assert all(tick.still for tick in world.sent)

    # After motion, the frames since the key frame follow, each with its own time.
    late = world.looked(age_ms=5_000)
    pipeline.offer(late)

    assert world.sent[-1].captured_ms == key_frame_ms + 1_000


def test_a_connection_that_is_lost_moves_the_clock_on_whatever_was_held_back(world: World) -> None:
    pipeline = world.pipeline()
    world.instant = world.instant.later(10)
    pipeline.on_status(world.seen(is_still=True, holds_back=True))
    world.instant = world.instant.later(5)

    pipeline.disconnected()

    assert world.sent[-1].captured_ms == world.instant.unix_ms


def test_a_frame_may_be_a_snapshot_only(world: World) -> None:
    pipeline = world.pipeline()
    world.sent.clear()

    pipeline.offer(world.looked(moves=False, is_snapshot=True, age_ms=7))

    assert world.sent == []
    (snapshot,) = world.snapshots
    assert snapshot.owner_id == UUID(int=2)
    assert snapshot.image.data == b"jpeg"
    assert snapshot.captured_ms == START.unix_ms - 7


def test_with_kafka_unavailable_frames_are_dropped_but_snapshots_go_on(world: World) -> None:
    pipeline = world.pipeline()
    world.room = False

    pipeline.offer(world.looked(is_snapshot=True))

    assert FrameKind.FRAME not in world.kinds()
    assert world.count("platestream_ingest_frames_dropped_total", reason="buffer") == 1
    assert len(world.snapshots) == 1


def test_each_record_has_the_outcomes_of_the_frames_before_it(world: World) -> None:
    pipeline = world.pipeline()
    pipeline.frames_dropped(3)
    pipeline.on_status(world.seen(is_still=False, still=4))
    world.room = False
    pipeline.offer(world.looked())
    world.room = True
    pipeline.offer(world.looked())
    pipeline.disconnected()

    assert world.count("platestream_ingest_frames_dropped_total", reason="slow") == 3
    counts = CaptureCounts(since_ms=START.unix_ms, decoded=10, still=4, slow=3, unsent=1, sent=1)
    assert [meta.counts for meta in world.sent[1:]] == [counts, counts]


def test_capture_times_never_fall_across_a_reconnect(world: World) -> None:
    pipeline = world.pipeline()
    world.instant = world.instant.later(2)
    pipeline.offer(world.looked())
    world.instant = world.instant.later(1)
    pipeline.disconnected()
    assert world.sent[-1].captured_ms == world.instant.unix_ms
    world.instant = world.instant.later(3)
    pipeline.tick_if_silent(world.instant)
    assert world.sent[-1].captured_ms == world.instant.unix_ms
    pipeline.connected()
    pipeline.offer(world.looked(age_ms=700))

    times = [meta.captured_ms for meta in world.sent]
    assert world.kinds()[-1] is FrameKind.FRAME
    assert times == sorted(times)
    assert times[-1] == world.instant.unix_ms + 1


def test_a_closed_pipeline_sends_one_last_tick_and_nothing_more(world: World) -> None:
    pipeline = world.pipeline()
    world.sent.clear()

    pipeline.close()
    pipeline.offer(world.looked(is_snapshot=True))
    world.instant = world.instant.later(10)
    pipeline.tick_if_silent(world.instant)

    assert world.kinds() == [FrameKind.TICK]
    assert world.snapshots == []


def test_a_camera_does_not_end_while_its_snapshot_is_in_flight(world: World) -> None:
    pipeline = world.pipeline()
    ending = threading.Thread(target=pipeline.end)
    ended_meanwhile: list[bool] = []

    def offer(snapshot: Snapshot) -> None:
        ending.start()
        ending.join(0.1)
        ended_meanwhile.append(not ending.is_alive())

    world.on_snapshot = offer
    pipeline.offer(world.looked(is_snapshot=True))
    ending.join(10)
    world.on_snapshot = None
    world.instant = world.instant.later(10)
    pipeline.offer(world.looked(is_snapshot=True))

    assert ended_meanwhile == [False]
    assert world.kinds()[-1] is FrameKind.END
    assert world.snapshots == []


def test_an_ended_pipeline_sends_nothing_more_until_it_resumes(world: World) -> None:
    pipeline = world.pipeline()
    last_ms = world.sent[-1].captured_ms
    world.sent.clear()

    pipeline.end()
    pipeline.offer(world.looked())
    world.instant = world.instant.later(10)
    pipeline.tick_if_silent(world.instant)
    assert world.kinds() == [FrameKind.END]
    assert world.sent[0].captured_ms >= last_ms
    assert not world.sent[0].deleted

    pipeline.resume()
    pipeline.connected()
    pipeline.offer(world.looked())
    assert world.kinds()[1:] == [FrameKind.FRAME]
    pipeline.end(deleted=True)
    assert world.sent[-1].deleted
