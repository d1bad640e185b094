"""Plates that are too large for the detector are found in the shrunk image."""

import numpy as np
import pytest

from recognition.analysis_hints import NOTHING_KNOWN
from recognition.detection.detector import Detector
from recognition.detection.plate_search import deduplicate_detections, find_plates
from recognition.models.runtime import Tensor
from recognition.types import BgrImage, Detection
from tests.unit.recognition.cards import SaidModel, centre_rows, detector_card, recognizer_settings

# The detector's input is 320x192 px first (a quarter of the size), then 160x96 px (an eighth).
IMAGE = np.zeros((720, 1280, 3), np.uint8)
SMALL = np.zeros((300, 400, 3), np.uint8)
Row = tuple[float, float, float, float, float]


NOTHING: Row = (0, 0, 0, 0, 0.0)


def hints(
    near: tuple[Row, ...],
    far: tuple[Row, ...],
    close: tuple[Row, ...] = (NOTHING,),
    *,
    any_size: bool = True,
) -> tuple[Detector, SaidModel]:
    """Return a detector that finds ``near``, then ``far`` and ``close`` in the shrunk images."""

    def say(_: Tensor) -> dict[str, Tensor]:
        return {"output0": centre_rows(*(near, far, close)[len(model.inputs) - 1])}

    model = SaidModel(say)
    settings = recognizer_settings()
    canvases = ((320, 192), (160, 96)) if any_size else ()
    card = detector_card(dynamic_size=any_size, canvases=canvases)
    detector = Detector(card, model, settings)
    return detector, model


def seen(finder: Detector, image: BgrImage = IMAGE) -> list[Detection]:
    return find_plates(finder, [image], [NOTHING_KNOWN])[0]


@pytest.mark.parametrize("near", [(), ((200, 100, 90, 40, 0.6),)])
def test_a_plate_that_fills_the_image_is_found_from_afar(near: tuple[Row, ...]) -> None:
    finder, model = hints(near or (NOTHING,), ((80, 48, 120, 40, 0.8),))

    (found,) = deduplicate_detections(seen(finder))

    assert [fed.shape[2:] for fed in model.inputs] == [(192, 320), (96, 160), (96, 160)]
    # 120x40 px of the shrunk image, which has 3 px of grey above: eight times as large.
    assert found.box == pytest.approx((160, 200, 1120, 520), abs=1)
    assert found.score == pytest.approx(0.8)


def test_of_one_plate_each_look_has_its_box() -> None:
    # All boxes are around the centre of the image.
    boxes = ((160, 96, 200, 60, 0.6),), ((80, 48, 120, 40, 0.8),), ((80, 48, 60, 20, 0.7),)
    found = seen(hints(*boxes)[0])

    assert [one.score for one in found] == pytest.approx([0.8, 0.7, 0.6])
    assert [one.score for one in deduplicate_detections(found)] == pytest.approx([0.8])


def test_a_large_image_without_anything_large_is_seen_twice() -> None:
    _, model = (made := hints((NOTHING,), (NOTHING,)))
    assert seen(made[0]) == []
    assert len(model.inputs) == 2

    _, model = (made := hints((NOTHING,), (NOTHING,), ((80, 56, 60, 20, 0.7),)))
    assert len(seen(made[0], SMALL)) == 1
    assert len(model.inputs) == 3


@pytest.mark.parametrize(
    ("near", "left", "right"),
    [((150, 96, 70, 20, 0.4), 460, 740), ((150, 96, 100, 20, 0.4), 400, 800)],
    ids=["of usual size", "larger"],
)
def test_the_close_up_gives_the_edges_of_plates_of_usual_size(
    near: Row, left: float, right: float
) -> None:
    # In the smaller input, the plate extends from 100 to 200 of 320 px.
    finder, _ = hints((near,), ((75, 48, 50, 10, 0.8),))

    found = seen(finder)[0]

    assert (found.left, found.right) == pytest.approx((left, right), abs=1)
    assert found.score == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("part", "kept"),
    [((55, 96, 60, 30, 0.45), 1), ((34, 96, 100, 30, 0.45), 2)],
    ids=["three quarters inside", "half inside"],
)
def test_a_part_of_a_large_plate_is_not_a_plate(part: Row, kept: int) -> None:
    # The plate extends from 40 to 280 of 320 px.
    finder, _ = hints((part,), ((80, 48, 120, 40, 0.8),))

    assert len(deduplicate_detections(seen(finder))) == kept


def test_plates_next_to_each_other_are_both_found() -> None:
    finder, _ = hints(((60, 96, 90, 20, 0.6),), ((120, 48, 50, 20, 0.8),))

    assert [one.score for one in seen(finder)] == pytest.approx([0.8, 0.6])


def test_a_sure_plate_of_usual_size_needs_no_second_look() -> None:
    finder, model = hints(((160, 96, 70, 20, 0.6),), ())

    assert len(seen(finder)) == len(model.inputs) == 1


@pytest.mark.parametrize(
    ("far", "any_size", "looks"),
    [((80, 48, 20, 8, 0.9), True, 2), ((160, 160, 120, 40, 0.8), False, 1)],
    ids=["small plate in the shrunk image", "model of one size"],
)
def test_nothing_is_found_and_looked_at_again(far: Row, looks: int, *, any_size: bool) -> None:
    finder, model = hints((NOTHING,), (far,), any_size=any_size)

    assert seen(finder) == []
    assert len(model.inputs) == looks


def test_a_model_of_one_size_sees_small_images_in_grey() -> None:
    finder, model = hints((NOTHING,), ((160, 160, 120, 40, 0.8),), any_size=False)

    (found,) = seen(finder, SMALL)

    fed = [one[0, 0] for one in model.inputs]
    assert {one.shape for one in fed} == {(320, 320)}
    black = [int(np.count_nonzero(one == 0)) for one in fed]
    assert black == [320 * 240, 160 * 120, 96 * 72]
    assert found.box == pytest.approx((50, 100, 350, 200), abs=1)


def test_a_model_of_one_size_looks_again_at_large_images_as_flat_as_a_plate() -> None:
    finder, model = hints((NOTHING,), ((160, 160, 120, 30, 0.8),), any_size=False)

    assert len(seen(finder, np.zeros((500, 1200, 3), np.uint8))) == 1
    assert len(model.inputs) == 3
