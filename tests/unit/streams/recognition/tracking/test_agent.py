from collections.abc import Collection
from typing import Any, cast

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from common.errors import InvalidInputError, TransientError
from common.records.alerts import ProvisionalKind, ProvisionalRecognition
from common.records.codec import encode
from common.records.counts import CameraCounts, CaptureCounts, FrameCounts
from common.records.frames import FrameKind, FrameReference
from common.records.ids import uuid_unix_ms
from common.records.object_keys import crop_key, photo_key
from common.records.recognitions import PassOutcome, Recognition, RecognitionSource
from streams.recognition.frame_store import FrameStore
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.tracking.agent import TrackingAgent
from streams.recognition.tracking.counting import CameraCounter, CountMarks
from streams.recognition.tracking.passes import TrackingRules
from streams.recognition.tracking.pending_images import PassImageStore, named
from streams.recognition.tracking.state_store import TrackerStateStore
from streams.runtime.tables import DurableTable
from tests.unit.streams.recognition.builders import (
    CAMERA,
    OWNER,
    RULES,
    START_MS,
    frame,
    jpeg_image,
    reading,
)

KEY = str(CAMERA).encode()
SEEN = [frame(0, 0, [reading("AB123CD", 0.9)]), frame(1, 200, [reading("AB123CD", 0.96)])]
END = frame(2, 2200, kind=FrameKind.TICK)


class World(DurableTable):
    """The dependencies of the tracking agent. All calls are recorded in order."""

    def __init__(self) -> None:
        self.actions: list[str] = []
        self.states: dict[bytes, bytes] = {}
        self.marks: dict[bytes, bytes] = {}
        self.objects: dict[str, bytes] = {}
        self.recognitions: list[Recognition] = []
        self.outcomes: list[PassOutcome] = []
        self.counts: list[CameraCounts] = []
        self.provisional: list[ProvisionalRecognition] = []
        self.frames: dict[FrameReference, bytes] = {}
        self.failing: set[str] = set()
        self.needed: set[FrameReference] = set()
        self.registry = CollectorRegistry()

    def get(self, key: bytes, /) -> bytes | None:
        return self.states.get(key)

    async def put(
        self, key: bytes, value: bytes | None, /, *, partition: int | None = None
    ) -> None:
        action = "deletion" if value is None else "state"
        self.fail_if(action)
        self.actions.append(action)
        if value is None:
            del self.states[key]
        else:
            self.states[key] = value

    def items(self) -> list[tuple[bytes, bytes]]:
        return list(self.states.items())

    def retain_only(
        self, camera: bytes, needed: Collection[FrameReference], up_to: FrameReference
    ) -> None:
        assert camera.endswith(KEY)
        self.needed = set(needed)

    async def store(self, recognition: Recognition, frame: FrameReference) -> Recognition:
        self.fail_if("images")
        self.actions.append("images")
        if frame not in self.frames:
            return recognition
        keys = [photo_key(OWNER, recognition.id), crop_key(OWNER, recognition.id)]
        self.objects |= dict.fromkeys(keys, self.frames[frame])
        return named(recognition, keys)

    async def publish(self, key: bytes, recognition: Recognition) -> None:
        self.fail_if("publish")
        assert key == KEY
        self.actions.append("recognition")
        self.recognitions.append(recognition)

    async def publish_outcome(self, key: bytes, outcome: PassOutcome) -> None:
        self.fail_if("outcome")
        assert key == KEY
        self.actions.append("outcome")
        self.outcomes.append(outcome)

    async def publish_provisional(self, key: bytes, record: ProvisionalRecognition) -> None:
        self.fail_if("provisional")
        assert key == KEY
        self.actions.append("provisional")
        self.provisional.append(record)

    async def publish_counts(self, key: bytes, counts: CameraCounts) -> None:
        self.fail_if("counts")
        assert key == KEY
        self.counts.append(counts)

    def fail_if(self, what: str) -> None:
        if what in self.failing:
            raise TransientError(f"{what} is unavailable")


class MarkTable(DurableTable):
    def __init__(self, world: World) -> None:
        self.world = world

    def get(self, key: bytes, /) -> bytes | None:
        return self.world.marks.get(key)

    async def put(
        self, key: bytes, value: bytes | None, /, *, partition: int | None = None
    ) -> None:
        if value is None:
            del self.world.marks[key]
        else:
            self.world.fail_if("mark")
            self.world.marks[key] = value


@pytest.fixture
def world() -> World:
    world = World()
    world.frames[SEEN[1].frame] = jpeg_image()
    return world


@pytest.fixture
def tracking(world: World) -> TrackingAgent:
    return tracking_of(world, RULES)


def tracking_of(world: World, rules: TrackingRules) -> TrackingAgent:
    return TrackingAgent(
        states=TrackerStateStore(world),
        frames=cast(FrameStore, world),
        images=cast(PassImageStore, world),
        publish=world.publish,
        publish_outcome=world.publish_outcome,
        publish_provisional=world.publish_provisional,
        publish_counts=world.publish_counts,
        counter=CameraCounter(),
        marks=CountMarks(MarkTable(world)),
        metrics=RecognitionMetrics(world.registry, cameras=1),
        rules=rules,
        now_ms=lambda: START_MS + 3000,
    )


async def play(tracking: TrackingAgent, *frames: Any) -> None:
    for each in frames:
        await tracking.handle(KEY, encode(each))


async def test_images_then_recognition_then_state(tracking: TrackingAgent, world: World) -> None:
    await play(tracking, *SEEN)
    assert world.actions == ["state", "provisional", "state"]
    world.actions.clear()
    await play(tracking, END)
    assert world.actions == ["images", "recognition", "state"]


async def test_a_recognition_holds_everything_about_the_pass(
    tracking: TrackingAgent, world: World
) -> None:
    await play(tracking, *SEEN, END)
    (found,) = world.recognitions
    assert found.plate == "AB123CD"
    assert found.captured_ms == START_MS + 200
    assert (found.first_seen_ms, found.last_seen_ms) == (START_MS, START_MS + 200)
    assert found.readings_count == 2
    assert found.box == SEEN[1].readings[0].box
    assert found.region == "Netherlands"
    weighted_mean = (0.9**4 + 0.96**4) / (0.9**3 + 0.96**3)
    assert found.confidence == pytest.approx(weighted_mean)
    assert found.character_confidences == pytest.approx((weighted_mean,) * 7)
    assert found.photo_key == photo_key(OWNER, found.id)
    assert found.crop_key == crop_key(OWNER, found.id)
    assert world.objects[found.photo_key] == jpeg_image()


async def test_a_minute_that_is_over_is_published_and_again_where_kafka_did_not_take_it(
    tracking: TrackingAgent, world: World
) -> None:
    next_minute = frame(3, 61_000, kind=FrameKind.TICK)
    await play(tracking, *SEEN, END)
    assert world.counts == []
    world.failing.add("counts")
    with pytest.raises(TransientError):
        await play(tracking, next_minute)
    world.failing.clear()
    await play(tracking, next_minute, next_minute)

    (counts,) = world.counts
    assert (counts.camera_id, counts.owner_id, counts.records) == (CAMERA, OWNER, 3)
    assert counts.counts == FrameCounts(read=2, found=2, readings=2, reported=1)
    labels = {"camera": str(CAMERA), "outcome": "reported"}
    passes = "platestream_recognition_camera_passes_total"
    assert world.registry.get_sample_value(passes, labels) == 1


async def test_the_next_worker_goes_on_from_the_mark_of_the_last(world: World) -> None:
    def seen(offset: int, ms: int, sent: int) -> Any:
        counts = CaptureCounts(since_ms=1, decoded=10 * sent, sent=sent)
        return msgspec.structs.replace(frame(offset, ms), counts=counts)

    def another() -> TrackingAgent:
        world.registry = CollectorRegistry()
        return tracking_of(world, RULES)

    await play(another(), seen(1, 0, 1), seen(2, 61_000, 2), seen(3, 70_000, 3))
    world.counts.clear()
    # Each worker continues from the previous mark. Five frames are missing before the third worker.
    await play(another(), seen(4, 75_000, 4), seen(5, 121_000, 5))
    await play(another(), seen(11, 900_000, 11), seen(12, 960_000, 12))
    end = msgspec.structs.replace(frame(13, 961_000, kind=FrameKind.END), deleted=True)
    await play(another(), end)

    first, second = (each.counts for each in world.counts)
    assert (first.decoded, first.lost, first.read) == (30, 0, 1)
    assert (second.decoded, second.lost, second.read) == (70, 6, 1)
    assert world.marks == {}


async def test_outcomes_of_tracks_are_counted(tracking: TrackingAgent, world: World) -> None:
    unsure = [frame(3, 3000, [reading("XY987ZW", 0.5)]), frame(4, 6000)]
    again = [frame(5, 7000, [reading("AB123CD", 0.99)]), frame(6, 10_000)]
    await play(tracking, *SEEN, END, *unsure, *again)

    def count(outcome: str) -> float | None:
        name = "platestream_recognition_tracks_total"
        return world.registry.get_sample_value(name, {"outcome": outcome})

    assert [count(o) for o in ("recognized", "unsure", "suppressed")] == [1, 1, 1]
    age = "platestream_recognition_pass_age_seconds_sum"
    assert world.registry.get_sample_value(age) == pytest.approx(2.8)


async def test_a_pass_without_an_accepted_reading_has_the_same_outcome_in_every_replay(
    tracking: TrackingAgent, world: World
) -> None:
    unsure = [frame(3, 3000, [reading("XY987ZW", 0.5)]), frame(4, 6000)]
    await play(tracking, *SEEN, END, unsure[0])
    assert world.outcomes == []
    world.failing = {"state"}
    for _ in range(2):
        # The state cannot be written, so the record is repeated.
        with pytest.raises(TransientError):
            await play(tracking, unsure[1])
    world.failing = set()
    world.actions.clear()
    await play(tracking, unsure[1])

    assert world.actions == ["outcome", "state"]
    assert len(world.outcomes) == 3
    assert len({each.id for each in world.outcomes}) == 1
    outcome = world.outcomes[0]
    assert (outcome.owner_id, outcome.camera_id, outcome.accepted) == (OWNER, CAMERA, False)
    assert (outcome.source, outcome.at_ms) == (RecognitionSource.CAMERA, START_MS + 3000)
    assert uuid_unix_ms(outcome.id) == outcome.at_ms


async def test_frames_are_cached_while_a_pass_can_need_them(
    tracking: TrackingAgent, world: World
) -> None:
    await play(tracking, *SEEN)
    assert world.needed == {SEEN[1].frame}
    await play(tracking, END)
    assert world.needed == set()


async def test_a_frame_without_plates_writes_nothing(tracking: TrackingAgent, world: World) -> None:
    await play(tracking, frame(0, 0), END)
    assert world.actions == []


async def test_done_again_gives_the_same(tracking: TrackingAgent, world: World) -> None:
    await play(tracking, *SEEN)
    before = dict(world.states)
    await play(tracking, END)
    world.states = before
    await play(tracking, SEEN[0], SEEN[1], END)
    first, again = world.recognitions
    assert first == again
    assert len(world.objects) == 2


@pytest.mark.parametrize("is_later", [False, True], ids=["ends with it", "ends after it"])
async def test_a_reported_track_that_is_no_recognition_names_the_one_that_it_is(
    tracking: TrackingAgent, world: World, is_later: bool
) -> None:
    at_ms = 1900 if is_later else 400
    misread = [
        frame(2 + n, at_ms + n * 200, [reading("AB9Z3CD", 0.86, x=804 + 4 * n)]) for n in range(2)
    ]
    own_end = [frame(5, 2200, kind=FrameKind.TICK)] if is_later else []
    end = frame(9, 9000, kind=FrameKind.TICK)
    await play(tracking, *SEEN, *misread, *own_end)
    assert len(world.recognitions) == is_later
    before = dict(world.states)
    await play(tracking, end)
    world.states = before
    await play(tracking, end)

    *_, ended, again = world.provisional
    assert ended == again
    assert (ended.kind, ended.recognition.plate) == (
        ProvisionalKind.RESOLVED,
        "AB9Z3CD",
    )
    assert ended.final_recognition in world.recognitions
    assert ended.final_recognition is not None
    assert (
        ended.final_recognition.plate,
        ended.final_recognition.id != ended.recognition.id,
    ) == (
        "AB123CD",
        True,
    )
    assert ended.final_recognition.crop_key in world.objects


async def test_a_recognition_of_before_a_track_began_is_not_what_passed(
    tracking: TrackingAgent, world: World
) -> None:
    over = frame(2, 2_250, kind=FrameKind.TICK)
    texts = ["ABZZZCD", "ABZZZCD", *["AB123CD"] * 4]
    again = [
        frame(3 + n, 8_000 + n * 200, [reading(text, 0.86, x=800 + 3 * n)])
        for n, text in enumerate(texts)
    ]
    await play(tracking, *SEEN, over, *again, frame(19, 19_000, kind=FrameKind.TICK))
    assert len(world.recognitions) == 1
    told = [(each.kind, each.recognition.plate) for each in world.provisional]
    assert told == [
        (ProvisionalKind.AGREED, "AB123CD"),
        (ProvisionalKind.AGREED, "ABZZZCD"),
        (ProvisionalKind.RESOLVED, "ABZZZCD"),
    ]
    assert world.provisional[-1].final_recognition is None


async def test_without_early_alerts_the_state_holds_no_recognitions(
    tracking: TrackingAgent, world: World
) -> None:
    await play(tracking, *SEEN, END)
    assert b"cropKey" in world.states[KEY]
    early_off = World()
    await play(tracking_of(early_off, TrackingRules(reports_early=False)), *SEEN, END)
    assert b"cropKey" not in early_off.states[KEY]


@pytest.mark.parametrize("dependency", ["images", "publish", "state"])
async def test_an_outage_writes_no_state_until_the_frame_is_handled_again(
    tracking: TrackingAgent, world: World, dependency: str
) -> None:
    await play(tracking, *SEEN)
    before = dict(world.states)
    world.failing = {dependency}
    with pytest.raises(TransientError):
        await play(tracking, END)
    assert world.states == before
    assert bool(world.recognitions) is (dependency == "state")
    world.failing = set()
    await play(tracking, END)
    assert world.states != before
    assert len({found.id for found in world.recognitions}) == 1


async def test_a_frame_that_is_gone_leaves_the_keys_out(
    tracking: TrackingAgent, world: World
) -> None:
    world.frames.clear()
    await play(tracking, *SEEN, END)
    (found,) = world.recognitions
    assert (found.photo_key, found.crop_key) == (None, None)
    assert world.objects == {}


async def test_state_of_another_release_is_dropped(tracking: TrackingAgent, world: World) -> None:
    world.states[KEY] = b'{"version": 0}'
    await play(tracking, *SEEN, END)
    assert len(world.recognitions) == 1


async def test_what_is_no_reading_is_refused(tracking: TrackingAgent) -> None:
    with pytest.raises(InvalidInputError):
        await tracking.handle(KEY, b"{}")


END_LATER = FrameReference(partition=3, offset=4)
DELETED = msgspec.structs.replace(frame(2, 400, kind=FrameKind.END), deleted=True)


async def test_nothing_is_remembered_of_a_deleted_camera(
    tracking: TrackingAgent, world: World
) -> None:
    await play(tracking, *SEEN)
    world.actions.clear()
    await play(tracking, DELETED)
    assert world.actions[-3:] == ["recognition", "state", "deletion"]
    (left,) = world.states.values()
    assert b"AB123CD" not in left
    assert KEY not in world.states
    assert world.needed == set()


@pytest.mark.parametrize("again_from", [0, 1, 2])
async def test_what_comes_again_of_a_deleted_camera_is_done(
    tracking: TrackingAgent, world: World, again_from: int
) -> None:
    await play(tracking, *SEEN, DELETED)
    states, count = dict(world.states), len(world.actions)
    await play(tracking, *[*SEEN, DELETED][again_from:])
    assert world.states == states
    assert len(world.actions) == count


@pytest.mark.parametrize("step", ["state", "deletion"])
async def test_a_deletion_that_kafka_did_not_take_is_done_again_with_the_same_ids(
    tracking: TrackingAgent, world: World, step: str
) -> None:
    await play(tracking, *SEEN)
    world.failing = {step}
    with pytest.raises(TransientError):
        await play(tracking, DELETED)
    assert KEY in world.states
    world.failing = set()
    await play(tracking, DELETED)
    assert KEY not in world.states
    assert len({found.id for found in world.recognitions}) == 1


async def test_no_mark_stays_of_a_deleted_camera_whatever_a_crash_cuts_off(
    tracking: TrackingAgent, world: World
) -> None:
    await play(tracking, *SEEN, DELETED)
    world.marks[KEY] = b"left by the crash"
    await play(tracking, *SEEN, DELETED)
    assert world.marks == {}


async def test_cameras_after_a_deleted_one_are_seen(tracking: TrackingAgent, world: World) -> None:
    await play(tracking, *SEEN, DELETED)
    later = [frame(n, n * 200, [reading("XY987ZW", 0.96)]) for n in (3, 4)]
    await play(tracking, *later, frame(9, 5000, kind=FrameKind.TICK))
    assert [found.plate for found in world.recognitions] == ["AB123CD", "XY987ZW"]


async def test_a_topic_recreated_after_a_deletion_is_read(
    tracking: TrackingAgent, world: World
) -> None:
    await play(tracking, *SEEN, DELETED)
    again = [frame(n, 60_000 + n * 200, [reading("XY987ZW", 0.96)]) for n in (0, 1)]
    end = msgspec.structs.replace(frame(2, 61_000, kind=FrameKind.END), deleted=True)
    await play(tracking, *again, end)
    assert [found.plate for found in world.recognitions] == ["AB123CD", "XY987ZW"]
    assert KEY not in world.states


async def test_the_last_deletion_of_a_partition_counts_with_the_highest_clock(
    tracking: TrackingAgent, world: World
) -> None:
    await play(tracking, *SEEN, DELETED)
    other = [frame(3, 100, [reading("XY987ZW", 0.96)])]
    await play(tracking, *other, msgspec.structs.replace(DELETED, frame=END_LATER, captured_ms=1))
    recognitions = len(world.recognitions)
    await play(tracking, *SEEN, DELETED)
    assert len(world.recognitions) == recognitions
    assert KEY not in world.states


async def test_a_camera_disabled_and_enabled_does_not_report_parked_cars_again(
    tracking: TrackingAgent, world: World
) -> None:
    off = frame(2, 400, kind=FrameKind.END)
    again = [frame(n, 10_000 + n * 200, [reading("AB123CD", 0.96)]) for n in (3, 4)]
    await play(tracking, *SEEN, off, *again, frame(9, 20_000, kind=FrameKind.TICK))
    assert [found.plate for found in world.recognitions] == ["AB123CD"]
