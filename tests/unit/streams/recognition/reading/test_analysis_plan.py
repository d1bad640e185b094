"""Expected positions of plates in a frame, and the plates that need not be read."""

from uuid import UUID

import pytest

from common.records.frames import FrameKind, FrameMeta
from streams.recognition.reading.analysis_plan import AnalysisPlan, plan_analysis
from streams.recognition.tracking.state import TrackerState
from tests.unit.streams.recognition.builders import RULES, START_MS, frame, play, reading

CAMERA = UUID(int=7)


def state(*xs: float) -> TrackerState:
    """Return the state after a plate was read at ``xs``, five times a second up to START_MS."""
    first_ms = -200 * (len(xs) - 1)
    frames = [frame(n, first_ms + 200 * n, [reading("AB123CD", x=x)]) for n, x in enumerate(xs)]
    return play(frames)[0]


STANDS = state(800, 800, 800)


def plan(ms: int, state: TrackerState) -> AnalysisPlan:
    meta = FrameMeta(
        kind=FrameKind.FRAME,
        camera_id=CAMERA,
        owner_id=CAMERA,
        camera_name="Gate",
        captured_ms=START_MS + ms,
        width_px=1920,
        height_px=1080,
    )
    return plan_analysis(meta, state, RULES.end_ms)


def test_without_tracks_nothing_is_expected() -> None:
    assert plan(200, TrackerState()) == AnalysisPlan()


@pytest.mark.parametrize(("ms", "is_followed"), [(600, True), (601, False)])
def test_a_settled_plate_that_was_unseen_for_a_while_is_read(ms: int, is_followed: bool) -> None:
    (track,) = STANDS.tracks
    found = plan(ms, STANDS)
    assert found.followed == ((track,) if is_followed else ())
    assert (found.hints.known, found.hints.others) == (
        ((track.last_box,), ()) if is_followed else ((), (track.last_box,))
    )


@pytest.mark.parametrize(("ms", "is_expected"), [(1_800, True), (2_000, False)])
def test_a_track_that_has_ended_is_not_expected(ms: int, is_expected: bool) -> None:
    assert bool(plan(ms, state(800)).hints.others) is is_expected


def test_a_track_that_has_left_the_frame_is_not_expected() -> None:
    assert plan(200, state(300, 80)) == AnalysisPlan()


def test_places_of_plates_to_read_are_given_next_to_the_settled_ones() -> None:
    two = [frame(9, 0, [reading("XY987ZW", x=980), reading("AB123CD", x=800)])]
    both = play(two, state(740, 770, 800))[0]
    hints = plan(200, both).hints
    assert [[round(box.x) for box in boxes] for boxes in (hints.known, hints.others)] == [
        [830],
        [980],
    ]
