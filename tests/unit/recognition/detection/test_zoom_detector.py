from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.records.frames import Box
from recognition.detection.detector import Detector
from recognition.detection.zoom_detector import ZoomDetector
from recognition.look import Look
from recognition.models.runtime import Tensor
from recognition.types import BgrImage, Detection
from tests.unit.recognition.cards import (
    SaidModel,
    centre_rows,
    detector_card,
    recognizer_settings,
)

# In the first input of 320x192 at a scale of 0.25, in a window of 256x160 at up to 1.5.
IMAGE = np.zeros((720, 1280, 3), np.uint8)
Row = tuple[float, float, float, float, float]
_NOTHING: Row = (0, 0, 0, 0, 0.0)


def looks(first: tuple[Row, ...], second: Callable[[int], Row]) -> tuple[ZoomDetector, SaidModel]:
    """A detector that says ``first``, then ``second`` of each window, and its model."""

    def say(tensor: Tensor) -> dict[str, Tensor]:
        closer = len(model.inputs) - 2
        rows = first if closer < 0 else (second(closer),)
        return {"output0": centre_rows(*rows)}

    model = SaidModel(say)
    detector = Detector(detector_card(dynamic_size=True), model, recognizer_settings())
    return ZoomDetector(detector), model


def box(found: Detection) -> tuple[float, float, float, float]:
    return found.left, found.top, found.right, found.bottom


def test_a_small_plate_gets_the_box_and_score_of_the_closer_look() -> None:
    # 64x24 px of the image around (640, 360); the second look has 205x128 px of it, at 1.25.
    finder, model = looks(((160, 96, 16, 6, 0.2),), lambda _: (128, 80, 75, 25, 0.9))

    (found,) = finder.detect(IMAGE)

    assert [fed.shape[2:] for fed in model.inputs] == [(192, 320), (160, 256)]
    assert found.score == pytest.approx(0.9)
    assert box(found) == pytest.approx((610, 350, 670, 370), abs=2)


def test_a_window_stays_inside_the_image() -> None:
    # The plate lies in the corner, and so in the corner of the window.
    finder, _ = looks(((8, 9, 16, 6, 0.2),), lambda _: (40, 15, 75, 25, 0.9))

    (found,) = finder.detect(IMAGE)

    assert box(found) == pytest.approx((2, 2, 62, 22), abs=2)


@pytest.mark.parametrize(
    ("width", "score", "looks_taken"),
    [(40, 0.9, 1), (40, 0.41, 1), (40, 0.39, 2), (24, 0.61, 1), (24, 0.59, 2), (18, 0.9, 2)],
)
def test_the_smaller_the_surer_must_a_plate_be_to_be_looked_at_once(
    width: float, score: float, looks_taken: int
) -> None:
    finder, model = looks(((160, 96, width, 8, score),), lambda _: _NOTHING)
    finder.detect(IMAGE)
    assert len(model.inputs) == looks_taken


def test_an_image_that_was_not_shrunk_is_looked_at_once() -> None:
    finder, model = looks(((160, 96, 100, 20, 0.6),), lambda _: _NOTHING)

    finder.detect(IMAGE[:192, :320])

    assert len(model.inputs) == 1


def test_what_the_closer_look_does_not_see_keeps_its_first_score() -> None:
    finder, _ = looks(((160, 96, 16, 6, 0.5), (60, 96, 16, 6, 0.3)), lambda _: _NOTHING)

    assert [found.score for found in finder.detect(IMAGE)] == pytest.approx([0.5])


def test_another_plate_in_the_window_takes_no_ones_place() -> None:
    finder, _ = looks(((160, 96, 16, 6, 0.3),), lambda _: (20, 20, 30, 10, 0.9))

    assert finder.detect(IMAGE) == []


def test_two_candidates_of_one_plate_are_one() -> None:
    # Apart enough for the first look, the same for the second.
    finder, model = looks(
        ((160, 96, 16, 6, 0.5), (166, 96, 16, 6, 0.45)),
        lambda closer: (128 + 15 - 30 * closer, 80, 75, 25, 0.9 - closer / 10),
    )

    (found,) = finder.detect(IMAGE)

    assert len(model.inputs) == 3
    assert found.score == pytest.approx(0.9)


def test_the_window_fits_a_detector_of_large_strides() -> None:
    model = SaidModel(lambda _: {"output0": centre_rows((160, 96, 16, 6, 0.2))})
    card = detector_card(dynamic_size=True, stride=64)

    ZoomDetector(Detector(card, model, recognizer_settings())).detect(IMAGE)

    assert [fed.shape[2:] for fed in model.inputs] == [(192, 320), (192, 256)]


@pytest.mark.parametrize(
    ("part", "size_px"),
    [
        (Box(x=900, y=500, width=200, height=150), (160, 256)),
        (Box(x=0, y=0, width=1280, height=300), (192, 320)),
    ],
    ids=["a part", "what all of it is cheaper than"],
)
def test_a_part_is_searched_at_the_scale_of_all_of_it(part: Box, size_px: tuple[int, int]) -> None:
    model = SaidModel(lambda _: {"output0": centre_rows((100, 60, 40, 12, 0.9))})
    detector = Detector(detector_card(dynamic_size=True), model, recognizer_settings())
    (found,) = ZoomDetector(detector).detect(IMAGE, Look(part=part))
    assert [fed.shape[2:] for fed in model.inputs] == [size_px]
    assert (found.width_px, found.height_px) == pytest.approx((160, 48), abs=1)


def test_what_is_found_in_a_part_has_its_place_in_the_image() -> None:
    # The part is widened to 1024 x 640 px, from (256, 80) on, down to the image's corner.
    part = Box(x=900, y=500, width=200, height=150)
    model = SaidModel(lambda _: {"output0": centre_rows((100, 60, 40, 12, 0.9))})
    detector = Detector(detector_card(dynamic_size=True), model, recognizer_settings())
    (found,) = ZoomDetector(detector).detect(IMAGE, Look(part=part))
    assert box(found) == pytest.approx((576, 296, 736, 344), abs=1)


# The part is looked at in a window of the image from (256, 80) to (1280, 720).
PART = Box(x=900, y=500, width=200, height=150)


def test_a_plate_that_the_edge_of_a_part_may_cut_is_searched_again_in_whole() -> None:
    # A piece of it at the left edge, around (276, 216); all of it is 120 px wide.
    piece, whole = (5, 34, 10, 7, 0.9), (65, 54, 30, 8, 0.8)
    finder, model = looks((piece,), lambda _: whole)
    (found,) = finder.detect(IMAGE, Look(part=PART))
    assert [fed.shape[2:] for fed in model.inputs] == [(160, 256)] * 2
    assert found.width_px == pytest.approx(120, abs=1)
    assert found.score == pytest.approx(0.8)


@pytest.mark.parametrize(
    "again", [_NOTHING, (200, 120, 30, 8, 0.8), (5, 54, 8, 7, 0.8)], ids=["no", "another", "a part"]
)
def test_a_piece_of_a_plate_at_the_edge_of_a_part_is_nothing(again: Row) -> None:
    finder, _ = looks(((5, 34, 10, 7, 0.9),), lambda _: again)
    assert finder.detect(IMAGE, Look(part=PART)) == []


def test_a_piece_of_a_known_plate_is_not_searched_again() -> None:
    finder, model = looks(((5, 34, 10, 7, 0.9),), lambda _: (65, 54, 30, 8, 0.8))
    place = Box(x=190, y=201, width=120, height=32)
    assert finder.detect(IMAGE, Look(known=(place,), part=PART)) == []
    assert len(model.inputs) == 1


def test_the_edge_of_the_image_is_no_edge_of_a_part() -> None:
    finder, model = looks(((239, 80, 33, 8, 0.9),), lambda _: _NOTHING)
    (found,) = finder.detect(IMAGE, Look(part=PART))
    assert len(model.inputs) == 1
    assert found.right > 1270


class Watched(Detector):
    """Scales as the shipped detector; finds one plate of an image, and cuts it as windows do."""

    def __init__(self, image: BgrImage, plate: tuple[int, int, int, int] = (0, 0, 0, 0)) -> None:
        super().__init__(
            detector_card(dynamic_size=True, largest_side=768),
            SaidModel(lambda _: {}),
            recognizer_settings(),
        )
        self._image = image
        self._plate = plate
        self.windows: list[tuple[int, int, int, int]] = []

    def search(
        self,
        image: BgrImage,
        threshold: float,
        *,
        input_px: tuple[int, int] | None = None,
        largest_px: int | None = None,
    ) -> list[Detection]:
        top, left = divmod(image.ctypes.data - self._image.ctypes.data, self._image.strides[0])
        left //= 3
        bottom, right = top + image.shape[0], left + image.shape[1]
        self.windows.append((left, top, right, bottom))
        x1, y1, x2, y2 = self._plate
        seen = max(x1, left), max(y1, top), min(x2, right), min(y2, bottom)
        if seen[2] <= seen[0] or seen[3] <= seen[1]:
            return []
        return [
            Detection(seen[0] - left, seen[1] - top, seen[2] - left, seen[3] - top, 0.9, "plate")
        ]


SIZES_PX = ((1280, 720), (1920, 1080), (2560, 1440), (1600, 1200), (704, 576))
IMAGES = {size: np.zeros((size[1], size[0], 3), np.uint8) for size in SIZES_PX}


@pytest.mark.parametrize("size", SIZES_PX, ids=str)
def test_a_plate_at_the_far_edge_of_the_image_is_not_cut_by_a_part(size: tuple[int, int]) -> None:
    width, height = size
    plate = (width - 140, height - 40, width - 40, height - 4)
    part = Box(x=width - 180, y=height - 120, width=170, height=110)
    detector = Watched(IMAGES[size], plate)
    found = ZoomDetector(detector).detect(IMAGES[size], Look(part=part))
    assert [box(one) for one in found] == [plate]
    # A second one, where it is small or unsure, is for a closer look.
    assert detector.windows[0][2:] == size


def test_the_bottom_of_an_image_of_720_lines_cuts_no_plate() -> None:
    image = IMAGES[(1280, 720)]
    detector = Watched(image, (1140, 676, 1240, 700))
    part = Box(x=1100, y=600, width=170, height=110)
    (found,) = ZoomDetector(detector).detect(image, Look(part=part))
    assert box(found) == (1140, 676, 1240, 700)
    assert detector.windows == [(853, 453, 1280, 720)]


_SHARES = st.floats(0, 1)


@given(st.sampled_from(SIZES_PX), _SHARES, _SHARES, _SHARES, _SHARES)
def test_the_window_of_a_part_covers_it(
    size: tuple[int, int], x: float, y: float, across: float, down: float
) -> None:
    width, height = size
    part_width, part_height = 1 + across * (width - 1), 1 + down * (height - 1)
    # A tenth of them, and more, lie at each edge.
    left = min(max((1.25 * x - 0.125) * (width - part_width), 0), width - part_width)
    top = min(max((1.25 * y - 0.125) * (height - part_height), 0), height - part_height)
    part = Box(x=left, y=top, width=part_width, height=part_height)
    detector = Watched(IMAGES[size])
    ZoomDetector(detector).detect(IMAGES[size], Look(part=part))
    ((x1, y1, x2, y2),) = detector.windows
    assert 0 <= x1 <= left and 0 <= y1 <= top
    assert left + part_width <= x2 + 1e-6 <= width + 1e-6
    assert top + part_height <= y2 + 1e-6 <= height + 1e-6


def test_plates_in_known_places_that_are_read_all_the_same_get_windows() -> None:
    finder, model = looks(((160, 96, 16, 6, 0.5),), lambda _: (128, 80, 75, 25, 0.9))
    place, other = (Box(x=608, y=top, width=64, height=24) for top in (348, 372))

    (found,) = finder.detect(IMAGE, Look(known=(place,), others=(other,)))

    assert len(model.inputs) == 2
    assert found.score == pytest.approx(0.9)


def test_plates_in_known_places_get_no_window() -> None:
    finder, model = looks(((160, 96, 16, 6, 0.5),), lambda _: (128, 80, 75, 25, 0.9))
    place = Box(x=608, y=348, width=64, height=24)

    (found,) = finder.detect(IMAGE, Look(known=(place,)))

    assert len(model.inputs) == 1
    assert found.score == pytest.approx(0.5)


def test_looks_are_bounded() -> None:
    rows = tuple((20 + 25 * (n % 12), 60 + 20 * (n // 12), 16, 6, 0.2) for n in range(36))
    finder, model = looks(rows, lambda _: _NOTHING)

    finder.detect(IMAGE)

    assert len(model.inputs) == 1 + 20
