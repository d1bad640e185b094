"""A camera's frames: sampled, one at a time, gated, in order, and never in the reader's way."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
import pytest

from contracts.cameras import CameraConfig
from contracts.frames import FrameKind, FrameMeta, Zone, ZoneKind
from ingest.lane import FrameLane, LaneRules, LaneServices, Snapshot
from ingest.metrics import IngestMetrics
from ingest.moments import Moment
from ingest.motion import GreyPicture, MotionRules
from ingest.pictures import Jpeg

START = Moment(1_800_000_000_000, 5_000.0)
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
RULES = LaneRules(
    sample_fps=5, motion=None, jpeg_quality=80, max_width_px=0, snapshot_interval_seconds=5
)
GATED = LaneRules(
    sample_fps=5,
    motion=MotionRules(hold_seconds=3),
    jpeg_quality=80,
    max_width_px=960,
    snapshot_interval_seconds=5,
)


@dataclass
class FakePicture:
    brightness: int = 100
    width_px: int = 1920
    height_px: int = 1080

    def grey(self) -> GreyPicture:
        return np.full((100, 178), self.brightness, np.uint8)

    def jpeg(self, quality: int, max_width_px: int = 0) -> Jpeg:
        width_px = min(self.width_px, max_width_px or self.width_px)
        return Jpeg(b"jpeg", width_px, self.height_px * width_px // self.width_px)


class BrokenPicture(FakePicture):
    def jpeg(self, quality: int, max_width_px: int = 0) -> Jpeg:
        raise MemoryError("no picture of this size")


@dataclass
class World:
    """Time, threads and neighbours of a lane, in the test's hand."""

    moment: Moment = START
    room: bool = True
    sent: list[FrameMeta] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    on_snapshot: Callable[[Snapshot], None] | None = None
    queued: list[FrameLane] = field(default_factory=list)
    metrics: IngestMetrics = field(default_factory=IngestMetrics)

    def services(self) -> LaneServices:
        return LaneServices(
            frames=self,
            snapshots=self,
            metrics=self.metrics,
            submit=self.queued.append,
            now=lambda: self.moment,
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

    def fail(self, lane: FrameLane) -> bool:
        """Let an encoder meet a picture that cannot be coded; returns whether it tells of it."""
        with pytest.raises(MemoryError):
            self.queued.pop(0).work()
        return lane.work_failed()

    def play(self, lane: FrameLane, seconds: float, picture: FakePicture) -> None:
        """Let a 25 frames/s stream run on, with encoders that keep up."""
        for _ in range(round(seconds * 25)):
            self.moment = self.moment.later(0.04)
            lane.offer(picture, self.moment.seconds, self.moment.unix_ms)
            self.work()
            lane.tick_if_silent(self.moment)

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0

    def kinds(self) -> list[FrameKind]:
        return [meta.kind for meta in self.sent]


@pytest.fixture
def world() -> World:
    return World()


def test_a_taken_camera_tells_its_clock_at_once(world: World) -> None:
    FrameLane(CONFIG, RULES, world.services())

    assert world.kinds() == [FrameKind.TICK]
    assert world.sent[0].captured_ms == START.unix_ms


def test_five_frames_a_second_go_out_with_what_recognition_needs(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()

    world.play(lane, 4, FakePicture())

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
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()
    world.play(lane, 2, FakePicture())
    world.sent.clear()

    lane.config = CameraConfig(
        camera_id=UUID(int=1),
        owner_id=UUID(int=2),
        name="new name",
        stream_url_encrypted="x",
        enabled=True,
        revision=2,
        sample_fps=10,
    )
    world.play(lane, 2, FakePicture())

    assert 19 <= len(world.sent) <= 21
    assert {meta.camera_name for meta in world.sent} == {"new name"}


def test_a_slow_consumer_gets_the_latest_picture_and_the_reader_never_waits(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()
    for number in range(10):
        world.moment = START.later(number * 0.2)
        lane.offer(FakePicture(), number * 0.2, world.moment.unix_ms)

    assert len(world.queued) == 1
    world.work()

    assert [meta.captured_ms for meta in world.sent[1:]] == [START.unix_ms + 1800]
    assert world.count("platestream_ingest_frames_dropped_total", reason="slow") == 9


def test_a_picture_that_cannot_be_coded_costs_no_other_picture(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()
    world.sent.clear()
    lane.offer(BrokenPicture(), 0.0, START.unix_ms)
    world.fail(lane)

    world.moment = world.moment.later(2)
    lane.tick_if_silent(world.moment)
    lane.offer(FakePicture(), 2.0, world.moment.unix_ms + 1)
    world.work()

    assert world.kinds() == [FrameKind.TICK, FrameKind.FRAME]
    assert len(world.snapshots) == 1
    assert world.count("platestream_ingest_frames_dropped_total", reason="failed") == 1


def test_what_came_while_a_picture_failed_has_its_turn(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()

    class Overtaken(BrokenPicture):
        def jpeg(self, quality: int, max_width_px: int = 0) -> Jpeg:
            lane.offer(FakePicture(), 1.0, START.unix_ms + 1000)
            return super().jpeg(quality, max_width_px)

    lane.offer(Overtaken(), 0.0, START.unix_ms)
    world.fail(lane)
    world.work()

    assert world.sent[-1].captured_ms == START.unix_ms + 1000


def test_a_camera_whose_pictures_all_fail_is_told_of_once_a_minute(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()
    told = 0
    for number in range(600):
        world.moment = START.later(number * 0.2)
        lane.offer(BrokenPicture(), number * 0.2, world.moment.unix_ms)
        told += world.fail(lane)

    assert told == 2


def test_a_still_scene_sends_ticks_and_snapshots_only(world: World) -> None:
    lane = FrameLane(CONFIG, GATED, world.services())
    lane.connected()
    world.play(lane, 10, FakePicture())
    world.sent.clear()
    world.snapshots.clear()

    world.play(lane, 10, FakePicture())

    assert set(world.kinds()) == {FrameKind.TICK}
    assert len(world.sent) in (9, 10)
    assert len(world.snapshots) == 2
    assert world.count("platestream_ingest_frames_still_total") > 0
    assert world.moment.unix_ms - world.sent[-1].captured_ms <= 1100


def test_motion_opens_the_gate_with_the_very_picture_that_moved(world: World) -> None:
    lane = FrameLane(CONFIG, GATED, world.services())
    lane.connected()
    world.play(lane, 10, FakePicture())
    world.sent.clear()

    world.play(lane, 1, FakePicture(brightness=180))

    assert world.kinds().count(FrameKind.FRAME) == 5


def test_scaled_frames_scale_the_least_plate_width(world: World) -> None:
    lane = FrameLane(CONFIG, GATED, world.services())
    lane.connected()

    world.play(lane, 0.2, FakePicture())

    assert (world.sent[-1].width_px, world.sent[-1].height_px) == (960, 540)
    assert world.sent[-1].min_plate_width_px == 30


def test_the_first_picture_is_a_snapshot_at_once_then_one_each_interval(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()

    world.play(lane, 0.04, FakePicture())
    assert len(world.snapshots) == 1
    world.play(lane, 14, FakePicture())

    assert len(world.snapshots) == 3
    assert world.snapshots[0].owner_id == UUID(int=2)
    assert world.snapshots[0].jpeg.data == b"jpeg"


def test_with_kafka_away_frames_are_dropped_but_snapshots_go_on(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()
    world.room = False

    world.play(lane, 4, FakePicture())

    assert FrameKind.FRAME not in world.kinds()
    assert world.count("platestream_ingest_frames_dropped_total", reason="buffer") == 20
    assert len(world.snapshots) == 1


def test_capture_times_never_fall_across_a_reconnect(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()
    world.play(lane, 2, FakePicture())
    world.moment = world.moment.later(1)
    lane.disconnected()
    assert world.sent[-1].captured_ms == world.moment.unix_ms
    world.moment = world.moment.later(3)
    lane.tick_if_silent(world.moment)
    assert world.sent[-1].captured_ms == world.moment.unix_ms
    lane.connected()
    lane.offer(FakePicture(), 0.0, world.moment.unix_ms - 700)
    world.work()

    times = [meta.captured_ms for meta in world.sent]
    assert world.kinds()[-1] is FrameKind.FRAME
    assert times == sorted(times)
    assert times[-1] == world.moment.unix_ms + 1


def test_a_reconnect_opens_the_gate(world: World) -> None:
    lane = FrameLane(CONFIG, GATED, world.services())
    lane.connected()
    world.play(lane, 20, FakePicture())
    lane.disconnected()
    world.sent.clear()

    lane.connected()
    # The first picture is overwritten before it is looked at; the gate opens none the less.
    lane.offer(FakePicture(), 0.0, world.moment.unix_ms)
    lane.offer(FakePicture(), 1.0, world.moment.unix_ms + 1)
    world.work()

    assert world.kinds() == [FrameKind.FRAME]


def test_a_closed_lane_sends_one_last_tick_and_nothing_more(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()
    world.play(lane, 1, FakePicture())
    lane.offer(FakePicture(), world.moment.seconds + 1, world.moment.unix_ms)
    world.sent.clear()
    world.snapshots.clear()

    lane.close()
    world.moment = world.moment.later(10)
    world.work()
    lane.tick_if_silent(world.moment)

    assert world.kinds() == [FrameKind.TICK]
    assert world.snapshots == []


def test_a_camera_does_not_end_while_its_snapshot_is_on_its_way(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()
    ending = threading.Thread(target=lane.end)
    ended_meanwhile: list[bool] = []

    def offer(snapshot: Snapshot) -> None:
        ending.start()
        ending.join(0.1)
        ended_meanwhile.append(not ending.is_alive())

    world.on_snapshot = offer
    lane.offer(FakePicture(), 0.0, START.unix_ms)
    world.work()
    ending.join(10)
    world.on_snapshot = None
    world.moment = world.moment.later(10)
    lane.offer(FakePicture(), 10.0, world.moment.unix_ms)
    world.work()

    assert ended_meanwhile == [False]
    assert world.kinds()[-1] is FrameKind.END
    assert world.snapshots == []


def test_an_ended_lane_sends_nothing_more_until_it_resumes(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    lane.connected()
    world.play(lane, 1, FakePicture())
    lane.offer(FakePicture(), world.moment.seconds + 1, world.moment.unix_ms)
    last_ms = world.sent[-1].captured_ms
    world.sent.clear()

    lane.end()
    world.moment = world.moment.later(10)
    world.work()
    lane.tick_if_silent(world.moment)
    assert world.kinds() == [FrameKind.END]
    assert world.sent[0].captured_ms >= last_ms
    assert not world.sent[0].deleted

    lane.resume()
    lane.connected()
    world.play(lane, 1, FakePicture())
    assert world.kinds().count(FrameKind.FRAME) == 5


def test_the_end_of_a_deleted_camera_says_so(world: World) -> None:
    lane = FrameLane(CONFIG, RULES, world.services())
    world.sent.clear()
    lane.end(deleted=True)
    assert [(each.kind, each.deleted) for each in world.sent] == [(FrameKind.END, True)]
