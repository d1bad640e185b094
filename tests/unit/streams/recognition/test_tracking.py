from collections.abc import Collection
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from contracts.alert_records import AlertSighting, SightingKind
from contracts.errors import InvalidInputError, TransientError
from contracts.frames import FrameKind, FrameReference
from contracts.ids import uuid_unix_ms
from contracts.object_keys import crop_key, photo_key
from contracts.recognitions import PassOutcome, Recognition, RecognitionSource
from contracts.records import encode
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.rules import TrackingRules
from streams.recognition.states import CameraStates
from streams.recognition.tracking import Tracking
from tests.unit.streams.recognition.builders import CAMERA, OWNER, RULES, START_MS, frame, reading
from tests.unit.streams.recognition.pictures import picture

KEY = str(CAMERA).encode()
SEEN = [frame(0, 0, [reading("AB123CD", 0.9)]), frame(1, 200, [reading("AB123CD", 0.96)])]
END = frame(2, 2200, kind=FrameKind.TICK)


class World:
    """The neighbours of the tracking agent, with everything they were told, in order."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.states: dict[bytes, bytes] = {}
        self.objects: dict[str, bytes] = {}
        self.recognitions: list[Recognition] = []
        self.outcomes: list[PassOutcome] = []
        self.sightings: list[AlertSighting] = []
        self.frames: dict[FrameReference, bytes] = {}
        self.failing: set[str] = set()
        self.needed: set[FrameReference] = set()
        self.registry = CollectorRegistry()

    def get(self, key: bytes, /) -> bytes | None:
        return self.states.get(key)

    async def write(self, key: bytes, value: bytes, /) -> None:
        self.fail_if("state")
        self.said.append("state")
        self.states[key] = value

    async def delete(self, key: bytes, /) -> None:
        self.fail_if("deletion")
        self.said.append("deletion")
        del self.states[key]

    async def jpeg(self, reference: FrameReference) -> bytes | None:
        self.fail_if("frames")
        return self.frames.get(reference)

    def keep_only(
        self, camera: bytes, needed: Collection[FrameReference], up_to: FrameReference
    ) -> None:
        assert camera == KEY
        self.needed = set(needed)

    async def put(self, key: str, jpeg: bytes) -> None:
        self.fail_if("images")
        self.said.append(key.rsplit("/", 1)[1])
        self.objects[key] = jpeg

    async def publish(self, key: bytes, recognition: Recognition) -> None:
        self.fail_if("publish")
        assert key == KEY
        self.said.append("recognition")
        self.recognitions.append(recognition)

    async def publish_outcome(self, key: bytes, told: PassOutcome) -> None:
        self.fail_if("outcome")
        assert key == KEY
        self.said.append("outcome")
        self.outcomes.append(told)

    async def publish_sighting(self, key: bytes, told: AlertSighting) -> None:
        self.fail_if("sighting")
        assert key == KEY
        self.said.append("sighting")
        self.sightings.append(told)

    def fail_if(self, what: str) -> None:
        if what in self.failing:
            raise TransientError(f"{what} is away")


@pytest.fixture
def world() -> World:
    world = World()
    world.frames[SEEN[1].frame] = picture()
    return world


@pytest.fixture
def tracking(world: World) -> Tracking:
    return tracking_of(world, RULES)


def tracking_of(world: World, rules: TrackingRules) -> Tracking:
    return Tracking(
        states=CameraStates(world),
        frames=world,
        images=world,
        publish=world.publish,
        publish_outcome=world.publish_outcome,
        publish_sighting=world.publish_sighting,
        metrics=RecognitionMetrics(world.registry),
        rules=rules,
        now_ms=lambda: START_MS + 3000,
    )


async def play(tracking: Tracking, *frames: Any) -> None:
    for each in frames:
        await tracking.handle(KEY, encode(each))


async def test_images_then_recognition_then_state(tracking: Tracking, world: World) -> None:
    await play(tracking, *SEEN)
    assert world.said == ["state", "sighting", "state"]
    world.said.clear()
    await play(tracking, END)
    assert sorted(world.said[:2]) == ["crop.jpg", "photo.jpg"]
    assert world.said[2:] == ["recognition", "state"]


async def test_recognition_tells_all(tracking: Tracking, world: World) -> None:
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
    assert world.objects[found.photo_key] == picture()


async def test_what_became_of_tracks_is_counted(tracking: Tracking, world: World) -> None:
    unsure = [frame(3, 3000, [reading("XY987ZW", 0.5)]), frame(4, 6000)]
    again = [frame(5, 7000, [reading("AB123CD", 0.99)]), frame(6, 10_000)]
    await play(tracking, *SEEN, END, *unsure, *again)

    def count(outcome: str) -> float | None:
        name = "platestream_recognition_tracks_total"
        return world.registry.get_sample_value(name, {"outcome": outcome})

    assert [count(o) for o in ("recognized", "unsure", "silent")] == [1, 1, 1]
    age = "platestream_recognition_pass_age_seconds_sum"
    assert world.registry.get_sample_value(age) == pytest.approx(2.8)


async def test_a_pass_without_an_accepted_reading_is_told_of_the_same_in_every_replay(
    tracking: Tracking, world: World
) -> None:
    unsure = [frame(3, 3000, [reading("XY987ZW", 0.5)]), frame(4, 6000)]
    await play(tracking, *SEEN, END, unsure[0])
    assert world.outcomes == []
    world.failing = {"state"}
    for _ in range(2):
        # The state cannot be written: the record is done again.
        with pytest.raises(TransientError):
            await play(tracking, unsure[1])
    world.failing = set()
    world.said.clear()
    await play(tracking, unsure[1])

    assert world.said == ["outcome", "state"]
    assert len(world.outcomes) == 3
    assert len({told.id for told in world.outcomes}) == 1
    told = world.outcomes[0]
    assert (told.owner_id, told.camera_id, told.accepted) == (OWNER, CAMERA, False)
    assert (told.source, told.at_ms) == (RecognitionSource.CAMERA, START_MS + 3000)
    assert uuid_unix_ms(told.id) == told.at_ms


async def test_frames_are_kept_while_a_pass_may_be_shown_by_them(
    tracking: Tracking, world: World
) -> None:
    await play(tracking, *SEEN)
    assert world.needed == {SEEN[1].frame}
    await play(tracking, END)
    assert world.needed == set()


async def test_a_frame_without_plates_writes_nothing(tracking: Tracking, world: World) -> None:
    await play(tracking, frame(0, 0), END)
    assert world.said == []


async def test_done_again_gives_the_same(tracking: Tracking, world: World) -> None:
    await play(tracking, *SEEN)
    before = dict(world.states)
    await play(tracking, END)
    world.states = before
    await play(tracking, SEEN[0], SEEN[1], END)
    first, again = world.recognitions
    assert first == again
    assert len(world.objects) == 2


@pytest.mark.parametrize("is_later", [False, True], ids=["ends with it", "ends after it"])
async def test_a_sighted_track_that_is_no_recognition_names_the_one_that_it_is(
    tracking: Tracking, world: World, is_later: bool
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

    *_, told, again = world.sightings
    assert told == again
    assert (told.kind, told.recognition.plate) == (SightingKind.SETTLED, "AB9Z3CD")
    assert told.came_out in world.recognitions
    assert told.came_out is not None
    assert (told.came_out.plate, told.came_out.id != told.recognition.id) == ("AB123CD", True)
    assert told.came_out.crop_key in world.objects


async def test_without_early_alerts_the_state_holds_no_recognitions(
    tracking: Tracking, world: World
) -> None:
    await play(tracking, *SEEN, END)
    assert b"cropKey" in world.states[KEY]
    silent = World()
    await play(tracking_of(silent, TrackingRules(tells_early=False)), *SEEN, END)
    assert b"cropKey" not in silent.states[KEY]


@pytest.mark.parametrize("neighbour", ["frames", "images", "publish"])
async def test_an_outage_writes_no_state(tracking: Tracking, world: World, neighbour: str) -> None:
    await play(tracking, *SEEN)
    before = dict(world.states)
    world.failing = {neighbour}
    with pytest.raises(TransientError):
        await play(tracking, END)
    assert world.states == before
    assert world.recognitions == []
    world.failing = set()
    await play(tracking, END)
    assert len(world.recognitions) == 1


async def test_a_state_that_kafka_did_not_take_is_written_when_done_again(
    tracking: Tracking, world: World
) -> None:
    await play(tracking, *SEEN)
    before = dict(world.states)
    world.failing = {"state"}
    with pytest.raises(TransientError):
        await play(tracking, END)
    assert world.states == before
    world.failing = set()
    await play(tracking, END)
    assert world.states != before
    assert len({found.id for found in world.recognitions}) == 1


async def test_a_frame_that_is_gone_leaves_the_keys_out(tracking: Tracking, world: World) -> None:
    world.frames.clear()
    await play(tracking, *SEEN, END)
    (found,) = world.recognitions
    assert (found.photo_key, found.crop_key) == (None, None)
    assert world.objects == {}


async def test_a_frame_that_cannot_be_cut_is_stored_whole(tracking: Tracking, world: World) -> None:
    world.frames[SEEN[1].frame] = b"\xff\xd8\xff broken"
    await play(tracking, *SEEN, END)
    (found,) = world.recognitions
    assert found.photo_key in world.objects
    assert found.crop_key is None


async def test_state_of_another_release_is_dropped(tracking: Tracking, world: World) -> None:
    world.states[KEY] = b'{"version": 0}'
    await play(tracking, *SEEN, END)
    assert len(world.recognitions) == 1


async def test_what_is_no_reading_is_refused(tracking: Tracking) -> None:
    with pytest.raises(InvalidInputError):
        await tracking.handle(KEY, b"{}")


END_LATER = FrameReference(partition=3, offset=4)
DELETED = msgspec.structs.replace(frame(2, 400, kind=FrameKind.END), deleted=True)


async def test_nothing_is_remembered_of_a_deleted_camera(tracking: Tracking, world: World) -> None:
    await play(tracking, *SEEN)
    world.said.clear()
    await play(tracking, DELETED)
    assert world.said[-3:] == ["recognition", "state", "deletion"]
    (left,) = world.states.values()
    assert b"AB123CD" not in left
    assert KEY not in world.states
    assert world.needed == set()


@pytest.mark.parametrize("again_from", [0, 1, 2])
async def test_what_comes_again_of_a_deleted_camera_is_done(
    tracking: Tracking, world: World, again_from: int
) -> None:
    await play(tracking, *SEEN, DELETED)
    states, told = dict(world.states), len(world.said)
    await play(tracking, *[*SEEN, DELETED][again_from:])
    assert world.states == states
    assert len(world.said) == told


@pytest.mark.parametrize("step", ["state", "deletion"])
async def test_a_deletion_that_kafka_did_not_take_is_done_again_with_the_same_ids(
    tracking: Tracking, world: World, step: str
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


async def test_cameras_after_a_deleted_one_are_seen(tracking: Tracking, world: World) -> None:
    await play(tracking, *SEEN, DELETED)
    later = [frame(n, n * 200, [reading("XY987ZW", 0.96)]) for n in (3, 4)]
    await play(tracking, *later, frame(9, 5000, kind=FrameKind.TICK))
    assert [found.plate for found in world.recognitions] == ["AB123CD", "XY987ZW"]


async def test_a_topic_made_anew_after_a_deletion_is_read(tracking: Tracking, world: World) -> None:
    await play(tracking, *SEEN, DELETED)
    anew = [frame(n, 60_000 + n * 200, [reading("XY987ZW", 0.96)]) for n in (0, 1)]
    end = msgspec.structs.replace(frame(2, 61_000, kind=FrameKind.END), deleted=True)
    await play(tracking, *anew, end)
    assert [found.plate for found in world.recognitions] == ["AB123CD", "XY987ZW"]
    assert KEY not in world.states


async def test_the_last_deletion_of_a_partition_counts_with_the_highest_clock(
    tracking: Tracking, world: World
) -> None:
    await play(tracking, *SEEN, DELETED)
    other = [frame(3, 100, [reading("XY987ZW", 0.96)])]
    await play(tracking, *other, msgspec.structs.replace(DELETED, frame=END_LATER, captured_ms=1))
    recognitions = len(world.recognitions)
    await play(tracking, *SEEN, DELETED)
    assert len(world.recognitions) == recognitions
    assert KEY not in world.states


async def test_a_camera_that_is_switched_off_and_on_does_not_tell_again_of_what_stands_there(
    tracking: Tracking, world: World
) -> None:
    off = frame(2, 400, kind=FrameKind.END)
    back = [frame(n, 10_000 + n * 200, [reading("AB123CD", 0.96)]) for n in (3, 4)]
    await play(tracking, *SEEN, off, *back, frame(9, 20_000, kind=FrameKind.TICK))
    assert [found.plate for found in world.recognitions] == ["AB123CD"]
