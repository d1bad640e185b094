"""A camera's frames: sampled, one at a time, gated, in order, and never holding up the reader."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
import pytest

from common.records.cameras import CameraConfig
from common.records.frames import FrameKind, FrameMeta, Zone, ZoneKind
from ingest.clocks import Instant
from ingest.frames.encoding import EncodedImage
from ingest.frames.pipeline import FramePipeline, PipelineDeps, PipelineSettings, Snapshot
from ingest.frames.sampling import GreyImage, MotionRules
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
RULES = PipelineSettings(
    sample_fps=5, motion=None, jpeg_quality=80, max_width_px=0, snapshot_interval_seconds=5
)
GATED = PipelineSettings(
    sample_fps=5,
    motion=MotionRules(hold_seconds=3),
    jpeg_quality=80,
    max_width_px=960,
    snapshot_interval_seconds=5,
)


@dataclass
class FakeFrame:
    brightness: int = 100
    width_px: int = 1920
    height_px: int = 1080

    def grey(self) -> GreyImage:
        return np.full((100, 178), self.brightness, np.uint8)

    def jpeg(self, quality: int, max_width_px: int = 0) -> EncodedImage:
        width_px = min(self.width_px, max_width_px or self.width_px)
        return EncodedImage(b"jpeg", width_px, self.height_px * width_px // self.width_px)


class BrokenFrame(FakeFrame):
    def jpeg(self, quality: int, max_width_px: int = 0) -> EncodedImage:
        raise MemoryError("no frame of this size")


@dataclass
class World:
    """Time, threads and dependencies of a pipeline, in the test's hand."""

    instant: Instant = START
    room: bool = True
    sent: list[FrameMeta] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    on_snapshot: Callable[[Snapshot], None] | None = None
    queued: list[FramePipeline] = field(default_factory=list)
    metrics: IngestMetrics = field(default_factory=IngestMetrics)

    def services(self) -> PipelineDeps:
        return PipelineDeps(
            frames=self,
            snapshots=self,
            metrics=self.metrics,
            submit=self.queued.append,
            now=lambda: self.instant,
        )

    def has_room(self) -> bool:
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

    def work(self) -> None:
        while self.queued:
            self.queued.pop(0).work()

    def fail(self, pipeline: FramePipeline) -> bool:
        """Let an encoder meet a frame that cannot be coded; returns whether it logs it."""
        with pytest.raises(MemoryError):
            self.queued.pop(0).work()
        return pipeline.work_failed()

    def play(self, pipeline: FramePipeline, seconds: float, frame: FakeFrame) -> None:
        """Let a 25 frames/s stream run on, with encoders that keep up."""
        for _ in range(round(seconds * 25)):
            self.instant = self.instant.later(0.04)
            pipeline.offer(frame, self.instant.seconds, self.instant.unix_ms)
            self.work()
            pipeline.tick_if_silent(self.instant)

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0

    def kinds(self) -> list[FrameKind]:
        return [meta.kind for meta in self.sent]


@pytest.fixture
def world() -> World:
    return World()


def test_a_taken_camera_sends_its_clock_at_once(world: World) -> None:
    FramePipeline(CONFIG, RULES, world.services())

    assert world.kinds() == [FrameKind.TICK]
    assert world.sent[0].captured_ms == START.unix_ms


def test_five_frames_a_second_go_out_with_what_recognition_needs(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()

    world.play(pipeline, 4, FakeFrame())

    frames = [meta for meta in world.sent if meta.kind is FrameKind.FRAME]
    assert len(frames) == 20
    assert world.count("platestream_ingest_frames_sent_total") == 20
    assert frames[3] == FrameMeta(
        kind=FrameKind.FRAME,
        camera_id=UUID(int=1),
        owner_id=UUID(int=2),
        camera_name="gate",
        captured_ms=START.unix_ms + 640,
        width_px=1920,
        height_px=1080,
        min_plate_width_px=60,
        zones=CONFIG.zones,
    )


def test_a_camera_may_have_a_rate_and_name_of_its_own_at_any_time(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()
    world.play(pipeline, 2, FakeFrame())
    world.sent.clear()

    pipeline.config = CameraConfig(
        camera_id=UUID(int=1),
        owner_id=UUID(int=2),
        name="new name",
        stream_url_encrypted="x",
        enabled=True,
        revision=2,
        sample_fps=10,
    )
    world.play(pipeline, 2, FakeFrame())

    assert 19 <= len(world.sent) <= 21
    assert {meta.camera_name for meta in world.sent} == {"new name"}


def test_a_slow_consumer_gets_the_latest_frame_and_the_reader_never_waits(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()
    for number in range(10):
        world.instant = START.later(number * 0.2)
        pipeline.offer(FakeFrame(), number * 0.2, world.instant.unix_ms)

    assert len(world.queued) == 1
    world.work()

    assert [meta.captured_ms for meta in world.sent[1:]] == [START.unix_ms + 1800]
    assert world.count("platestream_ingest_frames_dropped_total", reason="slow") == 9


def test_a_frame_that_cannot_be_coded_costs_no_other_frame(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()
    world.sent.clear()
    pipeline.offer(BrokenFrame(), 0.0, START.unix_ms)
    world.fail(pipeline)

    world.instant = world.instant.later(2)
    pipeline.tick_if_silent(world.instant)
    pipeline.offer(FakeFrame(), 2.0, world.instant.unix_ms + 1)
    world.work()

    assert world.kinds() == [FrameKind.TICK, FrameKind.FRAME]
    assert len(world.snapshots) == 1
    assert world.count("platestream_ingest_frames_dropped_total", reason="failed") == 1


def test_what_came_while_a_frame_failed_has_its_turn(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()

    class Overtaken(BrokenFrame):
        def jpeg(self, quality: int, max_width_px: int = 0) -> EncodedImage:
            pipeline.offer(FakeFrame(), 1.0, START.unix_ms + 1000)
            return super().jpeg(quality, max_width_px)

    pipeline.offer(Overtaken(), 0.0, START.unix_ms)
    world.fail(pipeline)
    world.work()

    assert world.sent[-1].captured_ms == START.unix_ms + 1000


def test_a_camera_whose_frames_all_fail_is_logged_once_a_minute(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()
    logged = 0
    for number in range(600):
        world.instant = START.later(number * 0.2)
        pipeline.offer(BrokenFrame(), number * 0.2, world.instant.unix_ms)
        logged += world.fail(pipeline)

    assert logged == 2


def test_a_still_scene_sends_ticks_and_snapshots_only(world: World) -> None:
    pipeline = FramePipeline(CONFIG, GATED, world.services())
    pipeline.connected()
    world.play(pipeline, 10, FakeFrame())
    world.sent.clear()
    world.snapshots.clear()

    world.play(pipeline, 10, FakeFrame())

    assert set(world.kinds()) == {FrameKind.TICK}
    assert len(world.sent) in (9, 10)
    assert len(world.snapshots) == 2
    assert world.count("platestream_ingest_frames_still_total") > 0
    assert world.instant.unix_ms - world.sent[-1].captured_ms <= 1100
    assert all(tick.still for tick in world.sent)


def test_a_camera_that_sends_nothing_is_not_said_to_be_still(world: World) -> None:
    pipeline = FramePipeline(CONFIG, GATED, world.services())
    pipeline.connected()
    world.play(pipeline, 10, FakeFrame())
    world.sent.clear()

    for _ in range(5):
        world.instant = world.instant.later(2)
        pipeline.tick_if_silent(world.instant)
    pipeline.disconnected()

    assert [tick.still for tick in world.sent] == [True, False, False, False, False, False]


def test_motion_opens_the_gate_with_the_very_frame_that_moved(world: World) -> None:
    pipeline = FramePipeline(CONFIG, GATED, world.services())
    pipeline.connected()
    world.play(pipeline, 10, FakeFrame())
    world.sent.clear()

    world.play(pipeline, 1, FakeFrame(brightness=180))

    assert world.kinds().count(FrameKind.FRAME) == 5


def test_scaled_frames_scale_the_least_plate_width(world: World) -> None:
    pipeline = FramePipeline(CONFIG, GATED, world.services())
    pipeline.connected()

    world.play(pipeline, 0.2, FakeFrame())

    assert (world.sent[-1].width_px, world.sent[-1].height_px) == (960, 540)
    assert world.sent[-1].min_plate_width_px == 30


def test_the_first_frame_is_a_snapshot_at_once_then_one_each_interval(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()

    world.play(pipeline, 0.04, FakeFrame())
    assert len(world.snapshots) == 1
    world.play(pipeline, 14, FakeFrame())

    assert len(world.snapshots) == 3
    assert world.snapshots[0].owner_id == UUID(int=2)
    assert world.snapshots[0].image.data == b"jpeg"


def test_with_kafka_unavailable_frames_are_dropped_but_snapshots_go_on(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()
    world.room = False

    world.play(pipeline, 4, FakeFrame())

    assert FrameKind.FRAME not in world.kinds()
    assert world.count("platestream_ingest_frames_dropped_total", reason="buffer") == 20
    assert len(world.snapshots) == 1


def test_capture_times_never_fall_across_a_reconnect(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()
    world.play(pipeline, 2, FakeFrame())
    world.instant = world.instant.later(1)
    pipeline.disconnected()
    assert world.sent[-1].captured_ms == world.instant.unix_ms
    world.instant = world.instant.later(3)
    pipeline.tick_if_silent(world.instant)
    assert world.sent[-1].captured_ms == world.instant.unix_ms
    pipeline.connected()
    pipeline.offer(FakeFrame(), 0.0, world.instant.unix_ms - 700)
    world.work()

    times = [meta.captured_ms for meta in world.sent]
    assert world.kinds()[-1] is FrameKind.FRAME
    assert times == sorted(times)
    assert times[-1] == world.instant.unix_ms + 1


def test_a_reconnect_opens_the_gate(world: World) -> None:
    pipeline = FramePipeline(CONFIG, GATED, world.services())
    pipeline.connected()
    world.play(pipeline, 20, FakeFrame())
    pipeline.disconnected()
    world.sent.clear()

    pipeline.connected()
    # The first frame is overwritten before it is looked at; the gate opens none the less.
    pipeline.offer(FakeFrame(), 0.0, world.instant.unix_ms)
    pipeline.offer(FakeFrame(), 1.0, world.instant.unix_ms + 1)
    world.work()

    assert world.kinds() == [FrameKind.FRAME]


def test_a_closed_pipeline_sends_one_last_tick_and_nothing_more(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()
    world.play(pipeline, 1, FakeFrame())
    pipeline.offer(FakeFrame(), world.instant.seconds + 1, world.instant.unix_ms)
    world.sent.clear()
    world.snapshots.clear()

    pipeline.close()
    world.instant = world.instant.later(10)
    world.work()
    pipeline.tick_if_silent(world.instant)

    assert world.kinds() == [FrameKind.TICK]
    assert world.snapshots == []


def test_a_camera_does_not_end_while_its_snapshot_is_in_flight(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()
    ending = threading.Thread(target=pipeline.end)
    ended_meanwhile: list[bool] = []

    def offer(snapshot: Snapshot) -> None:
        ending.start()
        ending.join(0.1)
        ended_meanwhile.append(not ending.is_alive())

    world.on_snapshot = offer
    pipeline.offer(FakeFrame(), 0.0, START.unix_ms)
    world.work()
    ending.join(10)
    world.on_snapshot = None
    world.instant = world.instant.later(10)
    pipeline.offer(FakeFrame(), 10.0, world.instant.unix_ms)
    world.work()

    assert ended_meanwhile == [False]
    assert world.kinds()[-1] is FrameKind.END
    assert world.snapshots == []


def test_an_ended_pipeline_sends_nothing_more_until_it_resumes(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    pipeline.connected()
    world.play(pipeline, 1, FakeFrame())
    pipeline.offer(FakeFrame(), world.instant.seconds + 1, world.instant.unix_ms)
    last_ms = world.sent[-1].captured_ms
    world.sent.clear()

    pipeline.end()
    world.instant = world.instant.later(10)
    world.work()
    pipeline.tick_if_silent(world.instant)
    assert world.kinds() == [FrameKind.END]
    assert world.sent[0].captured_ms >= last_ms
    assert not world.sent[0].deleted

    pipeline.resume()
    pipeline.connected()
    world.play(pipeline, 1, FakeFrame())
    assert world.kinds().count(FrameKind.FRAME) == 5


def test_the_end_of_a_deleted_camera_says_so(world: World) -> None:
    pipeline = FramePipeline(CONFIG, RULES, world.services())
    world.sent.clear()
    pipeline.end(deleted=True)
    assert [(each.kind, each.deleted) for each in world.sent] == [(FrameKind.END, True)]
