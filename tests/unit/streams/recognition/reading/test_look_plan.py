"""Where frames are looked at, by what changed and what tracking knows."""

from typing import Any
from uuid import UUID

import msgspec
import pytest

from common.records.counts import CaptureCounts
from common.records.frames import Box, FrameKind, FrameMeta
from common.records.recognitions import FollowedPlate, FrameReadings, PlateReading
from streams.recognition.geometry import share_within
from streams.recognition.reading.look_plan import LookPlan, LookPlanner
from streams.recognition.tracking.state import TrackerState
from tests.unit.streams.recognition.builders import RULES, START_MS, frame, plates, play, reading

CAMERA = UUID(int=7)
CAR = Box(x=1400, y=700, width=300, height=200)
NOBODY = TrackerState()


def state(*xs: float, text: str = "AB123CD") -> TrackerState:
    """A plate that was read in frames up to ``START_MS``, five a second."""
    first_ms = -200 * (len(xs) - 1)
    frames = [frame(n, first_ms + 200 * n, [reading(text, x=x)]) for n, x in enumerate(xs)]
    return play(frames)[0]


STANDS = state(800, 800, 800)
DRIVES = state(740, 770, 800)


class Camera:
    """Frames of one camera and the plans for them."""

    def __init__(self, whole_every_ms: int = 2_000, track_end_ms: int = RULES.end_ms) -> None:
        self.planner = LookPlanner(whole_every_ms, track_end_ms)
        self._sent = 0

    def sends(
        self, ms: int, *changed: Box, all_of_it: bool = False, sent: int = 1, unsent: int = 0
    ) -> FrameMeta:
        self._sent += sent
        return FrameMeta(
            kind=FrameKind.FRAME,
            camera_id=CAMERA,
            owner_id=CAMERA,
            camera_name="Gate",
            captured_ms=START_MS + ms,
            width_px=1920,
            height_px=1080,
            counts=CaptureCounts(since_ms=1, sent=self._sent, unsent=unsent),
            changed=None if all_of_it else changed,
        )

    def plan(self, meta: FrameMeta, state: TrackerState = NOBODY) -> LookPlan:
        return self.planner.plan(meta, state)


@pytest.fixture
def camera() -> Camera:
    """A camera whose first frame was looked at, at 0 ms."""
    camera = Camera()
    assert is_whole(camera.plan(camera.sends(0)))
    return camera


def is_whole(plan: LookPlan) -> bool:
    return plan.look is not None and plan.look.part is None


def test_what_changed_is_looked_at(camera: Camera) -> None:
    plan = camera.plan(camera.sends(200, CAR))
    assert plan.look is not None
    assert plan.look.part == CAR


def test_where_nothing_changed_nothing_is_looked_at(camera: Camera) -> None:
    assert camera.plan(camera.sends(200)).look is None


@pytest.mark.parametrize(
    ("track_end_ms", "step_ms", "expected"),
    [(9_000, 200, [10, 20]), (2_000, 200, [9, 18]), (2_000, 700, [2, 4]), (2_000, 1_000, [1, 2])],
)
def test_all_of_it_is_looked_at_so_often_that_no_track_ends_meanwhile(
    track_end_ms: int, step_ms: int, expected: list[int]
) -> None:
    camera = Camera(track_end_ms=track_end_ms)
    plans = [camera.plan(camera.sends(step_ms * n)) for n in range(21)]
    assert [n for n, plan in enumerate(plans) if is_whole(plan)][1:3] == expected


def test_all_of_every_frame_is_looked_at_where_that_is_wanted() -> None:
    camera = Camera(whole_every_ms=0)
    assert all(is_whole(camera.plan(camera.sends(200 * n))) for n in range(3))


def test_where_most_of_it_changed_all_of_it_is_looked_at(camera: Camera) -> None:
    wide = Box(x=0, y=200, width=1920, height=700)
    assert is_whole(camera.plan(camera.sends(200, wide)))


@pytest.mark.parametrize(
    "gap",
    [{"all_of_it": True}, {"sent": 2}, {"unsent": 1}, {"sent": 0}],
    ids=["not known", "one is lost", "one was not sent", "asked again"],
)
def test_where_nobody_knows_what_changed_all_of_it_is_looked_at(
    camera: Camera, gap: dict[str, Any]
) -> None:
    assert is_whole(camera.plan(camera.sends(200, CAR, **gap)))


def test_after_a_look_that_failed_all_of_it_is_looked_at(camera: Camera) -> None:
    camera.planner.forget(CAMERA)
    assert is_whole(camera.plan(camera.sends(200, CAR)))


def test_a_clock_that_was_set_back_begins_anew(camera: Camera) -> None:
    assert is_whole(camera.plan(camera.sends(-60_000, CAR)))


def test_what_changed_in_frames_that_were_left_out_is_looked_at(camera: Camera) -> None:
    camera.planner.leave_out(camera.sends(200, CAR))
    plan = camera.plan(camera.sends(400, Box(x=1300, y=600, width=100, height=100)))
    assert plan.look is not None
    assert plan.look.part == Box(x=1300, y=600, width=400, height=300)


def test_while_a_plate_is_to_be_read_all_of_it_is_looked_at(camera: Camera) -> None:
    assert is_whole(camera.plan(camera.sends(200), state(740, 770)))


@pytest.mark.parametrize(("ms", "is_followed"), [(600, True), (601, False)])
def test_a_settled_plate_that_was_unseen_for_a_while_is_read(ms: int, is_followed: bool) -> None:
    camera = Camera(whole_every_ms=0)
    plan = camera.plan(camera.sends(ms), STANDS)
    assert plan.look is not None
    assert bool(plan.look.known) is is_followed


def test_a_plate_to_be_read_that_was_missed_is_looked_for_where_it_was(camera: Camera) -> None:
    once = state(800)
    plans = [camera.plan(camera.sends(200 * n), once) for n in range(1, 5)]
    assert [is_whole(plan) for plan in plans] == [True, True, True, False]
    look = plans[-1].look
    assert look is not None
    assert look.part is not None
    assert share_within(once.tracks[0].last_box, look.part) == 1
    assert look.others == (once.tracks[0].last_box,)


def test_a_track_that_is_over_is_not_looked_for() -> None:
    camera = Camera()
    camera.plan(camera.sends(1_800))
    assert camera.plan(camera.sends(2_000), state(800)).look is None


def test_with_few_frames_a_second_all_is_looked_at_while_a_plate_is_to_be_read() -> None:
    camera = Camera()
    camera.plan(camera.sends(0))
    camera.plan(camera.sends(550))
    assert is_whole(camera.plan(camera.sends(1_100), state(800)))


def test_a_track_that_has_left_the_frame_is_not_looked_for(camera: Camera) -> None:
    assert camera.plan(camera.sends(200), state(300, 80)).look is None


def test_a_plate_that_stands_is_seen_without_a_look(camera: Camera) -> None:
    plan = camera.plan(camera.sends(200), STANDS)
    assert plan.look is None
    (plate,) = plan.unchanged
    assert (plate.track, plate.box) == (STANDS.tracks[0].name, STANDS.tracks[0].last_box)


def test_a_plate_that_stands_is_looked_at_where_something_changed(camera: Camera) -> None:
    before_it = Box(x=700, y=400, width=300, height=200)
    assert camera.plan(camera.sends(200, before_it), STANDS).unchanged == ()
    plan = camera.plan(camera.sends(400), STANDS)
    assert plan.look is not None
    assert plan.look.part is not None
    assert plan.look.known == (STANDS.tracks[0].last_box,)
    assert plan.unchanged == ()


def test_a_plate_that_left_unseen_is_not_taken_to_be_there(camera: Camera) -> None:
    over_it = Box(x=750, y=450, width=200, height=100)
    plans = [
        camera.plan(camera.sends(200 * n, *((over_it,) if n == 2 else ())), STANDS)
        for n in range(1, 7)
    ]
    assert [bool(plan.unchanged) for plan in plans] == [True] + [False] * 5
    # From the second on its place is looked at, in vain.
    assert all(plan.look is not None for plan in plans[2:])


def test_what_changed_beside_a_plate_may_be_its_vehicle_that_leaves(camera: Camera) -> None:
    its_roof = Box(x=700, y=300, width=300, height=100)
    assert camera.plan(camera.sends(200, its_roof), STANDS).unchanged == ()


def test_of_a_plate_that_stands_nothing_is_read_while_nothing_changes(camera: Camera) -> None:
    later = play([frame(9, 800, [])], STANDS)[0]
    plans = [camera.plan(camera.sends(200 * n), later) for n in range(1, 9)]
    assert [plan.look for plan in plans] == [None] * 8
    assert all(len(plan.unchanged) == 1 for plan in plans)


def test_a_part_holds_a_known_plate_in_whole(camera: Camera) -> None:
    beside = Box(x=880, y=515, width=500, height=300)
    (plate,) = (track.last_box for track in DRIVES.tracks)
    plan = camera.plan(camera.sends(200, beside), DRIVES)
    assert plan.look is not None
    assert plan.look.part is not None
    assert share_within(plate, plan.look.part) == 1


def test_places_of_plates_that_are_to_be_read_are_told() -> None:
    camera = Camera(whole_every_ms=0)
    beside = [frame(9, 0, [reading("XY987ZW", x=980), reading("AB123CD", x=800)])]
    both = play(beside, state(740, 770, 800))[0]
    look = camera.plan(camera.sends(200), both).look
    assert look is not None
    assert [[round(box.x) for box in boxes] for boxes in (look.known, look.others)] == [
        [830],
        [980],
    ]


def test_of_a_settled_vehicle_alone_every_other_frame_is_looked_at(camera: Camera) -> None:
    its_body = Box(x=700, y=350, width=300, height=200)
    plan = camera.plan(camera.sends(200, its_body), DRIVES)
    assert (plan.look, plan.unchanged) == (None, ())
    later = camera.plan(camera.sends(400, its_body), DRIVES)
    assert later.look is not None
    assert later.look.part is not None


def test_what_comes_beside_a_settled_vehicle_is_looked_at_at_once(camera: Camera) -> None:
    its_body = Box(x=700, y=350, width=300, height=200)
    plan = camera.plan(camera.sends(200, its_body, CAR), DRIVES)
    assert plan.look is not None
    assert plan.look.part == CAR


@pytest.mark.parametrize("confidence", [0.8, 0.95], ids=["unsure", "sure"])
@pytest.mark.parametrize(
    ("per_second", "found_every"),
    [(0.8, 1), (1.0, 1), (1.5, 1), (1.9, 3), (5.0, 1), (5.0, 9), (10.0, 18)],
)
def test_a_vehicle_that_comes_and_stands_is_one_pass(
    per_second: float, found_every: int, confidence: float
) -> None:
    """As where every frame is looked at, also where the detector misses the plate in most."""
    camera, passes = Camera(), list[str]()
    plate = reading("AB123CD", confidence)
    now = NOBODY
    for number in range(1, round(12 * per_second)):
        came = (Box(x=600, y=250, width=500, height=400),) if number == 1 else ()
        meta = camera.sends(round(1000 * number / per_second), CAR, *came)
        plan = camera.plan(meta, now)
        seen = frame(number, meta.captured_ms - START_MS, [])
        if plan.look is not None and number % found_every == 1 % found_every:
            part = plan.look.part
            if part is None or share_within(plate.box, part) == 1:
                seen = found(seen, plate, plan)
        followed = (*seen.followed, *plan.unchanged)
        step = now.apply_frame(msgspec.structs.replace(seen, followed=followed), RULES)
        now, passes = step.state, passes + plates(step.ended.passes)
    assert passes == []
    (track,) = now.tracks
    assert track.seen_count >= 2


def found(seen: FrameReadings, plate: PlateReading, plan: LookPlan) -> FrameReadings:
    """The frame with the plate, which is not read where it is known."""
    for track in plan.followed:
        followed = (FollowedPlate(track=track.name, box=plate.box),)
        return msgspec.structs.replace(seen, followed=followed)
    return msgspec.structs.replace(seen, readings=(plate,))
