"""Where frames are looked at, by what changed and what tracking knows."""

from typing import Any
from uuid import UUID

import pytest

from common.records.counts import CaptureCounts
from common.records.frames import Box, FrameKind, FrameMeta
from streams.recognition.reading.look_plan import LookPlan, LookPlanner
from streams.recognition.tracking.state import TrackerState
from tests.unit.streams.recognition.builders import START_MS, frame, play, reading

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

    def __init__(self, whole_every_ms: int = 2_000) -> None:
        self.planner = LookPlanner(whole_every_ms)
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


def test_all_of_it_is_looked_at_now_and_then(camera: Camera) -> None:
    plans = [camera.plan(camera.sends(200 * n)) for n in range(1, 21)]
    assert [n for n, plan in enumerate(plans, 1) if is_whole(plan)] == [10, 20]


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


def test_a_track_that_is_gone_is_not_looked_for(camera: Camera) -> None:
    assert camera.plan(camera.sends(800), state(740, 770)).look is None


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
