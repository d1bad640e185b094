"""The direction of a vehicle, from the readings of its pass."""

from collections.abc import Sequence

from common.records.recognitions import Direction
from streams.recognition.tracking.agent import recognition_of
from streams.recognition.tracking.passes import Pass
from streams.recognition.tracking.state import TrackerState
from tests.unit.streams.recognition.builders import RULES, frame, reading

_PLATE = "AB12CD"


def _pass(boxes: Sequence[tuple[float, float, float]]) -> Pass:
    """Return the pass of a plate seen every 200 ms at positions ``x``, ``y`` with a ``width``."""
    state = TrackerState()
    for number, (x, y, width) in enumerate(boxes):
        seen = reading(_PLATE, x=x, y=y, width=width)
        state = state.apply_frame(frame(number, number * 200, [seen]), RULES).state
    over = state.apply_frame(frame(len(boxes), 10_000), RULES)
    (found,) = over.ended.passes
    return found


def test_a_vehicle_that_comes_nearer_comes_towards_the_camera() -> None:
    boxes = [(960 - width / 2, 300 + 4 * width, width) for width in (60, 75, 90, 110, 130)]

    assert _pass(boxes).direction is Direction.TOWARDS
    assert _pass(boxes[::-1]).direction is Direction.AWAY


def test_boxes_that_the_frames_edge_cuts_do_not_count() -> None:
    whole = [(900.0, 700.0, 100.0), (880.0, 820.0, 120.0), (860.0, 940.0, 140.0)]
    cut = [*whole, (850.0, 1065.0, 60.0)]

    assert _pass(cut).direction is _pass(whole).direction is Direction.TOWARDS


def test_a_vehicle_that_crosses_the_image_goes_to_a_side() -> None:
    boxes = [(200.0 + 150 * number, 500.0, 120.0) for number in range(8)]

    assert _pass(boxes).direction is Direction.RIGHT
    assert _pass(boxes[::-1]).direction is Direction.LEFT


def test_a_recognition_has_it_and_a_stationary_one_has_none() -> None:
    standing = _pass([(900, 500, 120)] * 5)
    crossing = _pass([(200.0 + 150 * number, 500.0, 120.0) for number in range(8)])
    ended = frame(9, 10_000)

    assert standing.direction is None
    assert recognition_of(ended, standing).direction is None
    assert recognition_of(ended, crossing).direction is Direction.RIGHT
