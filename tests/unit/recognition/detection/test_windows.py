from collections.abc import Callable

import numpy as np
import pytest

from common.records.frames import Box
from recognition.analysis_hints import AnalysisHints
from recognition.detection.detector import Detector
from recognition.detection.windows import search_with_windows
from recognition.models.runtime import Tensor
from tests.unit.recognition.cards import SaidModel, centre_rows, detector_card, recognizer_settings

# The scale is 0.25 in the first input of 320x192 px, and up to 1.5 in a window of 256x160 px.
IMAGE = np.zeros((720, 1280, 3), np.uint8)
Row = tuple[float, float, float, float, float]
CANVASES = ((320, 192), (256, 160))
_NOTHING: Row = (0, 0, 0, 0, 0.0)


def hints(first: tuple[Row, ...], second: Callable[[int], Row]) -> tuple[Detector, SaidModel]:
    """Return a detector that finds ``first``, then ``second`` in each window, and its model."""

    def say(tensor: Tensor) -> dict[str, Tensor]:
        closer = len(model.inputs) - 2
        rows = first if closer < 0 else (second(closer),)
        return {"output0": centre_rows(*rows)}

    model = SaidModel(say)
    detector = Detector(
        detector_card(dynamic_size=True, canvases=CANVASES), model, recognizer_settings()
    )
    return detector, model


def test_a_small_plate_gets_the_box_and_score_of_the_closer_look() -> None:
    # The box has 64x24 px around (640, 360). The window shows 205x128 px around it, at 1.25.
    finder, model = hints(((160, 96, 16, 6, 0.2),), lambda _: (128, 80, 75, 25, 0.9))

    (found,) = search_with_windows(finder, IMAGE)

    assert [fed.shape[2:] for fed in model.inputs] == [(192, 320), (160, 256)]
    assert found.score == pytest.approx(0.9)
    assert found.box == pytest.approx((610, 350, 670, 370), abs=2)


def test_a_window_stays_inside_the_image() -> None:
    # The plate is in the corner of the image, and so in the corner of the window.
    finder, _ = hints(((8, 9, 16, 6, 0.2),), lambda _: (40, 15, 75, 25, 0.9))

    (found,) = search_with_windows(finder, IMAGE)

    assert found.box == pytest.approx((2, 2, 62, 22), abs=2)


@pytest.mark.parametrize(
    ("width", "score", "looks_taken"),
    [(33, 0.2, 1), (31, 0.5, 2), (24, 0.61, 1), (24, 0.59, 2), (11, 0.5, 1), (18, 0.07, 1)],
)
def test_the_smaller_the_surer_must_a_plate_be_to_be_looked_at_once(
    width: float, score: float, looks_taken: int
) -> None:
    finder, model = hints(((160, 96, width, 8, score),), lambda _: _NOTHING)
    search_with_windows(finder, IMAGE)
    assert len(model.inputs) == looks_taken


def test_an_image_that_was_not_shrunk_is_looked_at_once() -> None:
    finder, model = hints(((160, 96, 100, 20, 0.6),), lambda _: _NOTHING)

    search_with_windows(finder, IMAGE[:192, :320])

    assert len(model.inputs) == 1


def test_what_the_closer_look_does_not_see_keeps_its_first_score() -> None:
    finder, _ = hints(((160, 96, 16, 6, 0.5), (60, 96, 16, 6, 0.3)), lambda _: _NOTHING)

    assert [found.score for found in search_with_windows(finder, IMAGE)] == pytest.approx([0.5])


def test_another_plate_in_the_window_takes_no_ones_place() -> None:
    finder, _ = hints(((160, 96, 16, 6, 0.3),), lambda _: (20, 20, 30, 10, 0.9))

    assert search_with_windows(finder, IMAGE) == []


def test_two_candidates_of_one_plate_are_one() -> None:
    # The boxes are separate in the first input, but the same in the windows.
    finder, model = hints(
        ((160, 96, 16, 6, 0.5), (166, 96, 16, 6, 0.45)),
        lambda closer: (128 + 15 - 30 * closer, 80, 75, 25, 0.9 - closer / 10),
    )

    (found,) = search_with_windows(finder, IMAGE)

    assert len(model.inputs) == 3
    assert found.score == pytest.approx(0.9)


def test_plates_in_known_places_that_are_read_all_the_same_get_windows() -> None:
    finder, model = hints(((160, 96, 16, 6, 0.5),), lambda _: (128, 80, 75, 25, 0.9))
    place, other = (Box(x=608, y=top, width=64, height=24) for top in (348, 372))

    (found,) = search_with_windows(finder, IMAGE, AnalysisHints(known=(place,), others=(other,)))

    assert len(model.inputs) == 2
    assert found.score == pytest.approx(0.9)


def test_plates_in_known_places_get_no_window() -> None:
    finder, model = hints(((160, 96, 16, 6, 0.5),), lambda _: (128, 80, 75, 25, 0.9))
    place = Box(x=608, y=348, width=64, height=24)

    (found,) = search_with_windows(finder, IMAGE, AnalysisHints(known=(place,)))

    assert len(model.inputs) == 1
    assert found.score == pytest.approx(0.5)


def test_looks_are_bounded() -> None:
    rows = tuple((20 + 25 * (n % 12), 60 + 20 * (n // 12), 16, 6, 0.2) for n in range(36))
    finder, model = hints(rows, lambda _: _NOTHING)

    search_with_windows(finder, IMAGE)

    assert len(model.inputs) == 1 + 20
