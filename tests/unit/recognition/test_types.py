import numpy as np
import pytest

from recognition.types import Box, grown, iou, ious, overlap_coefficient

ONE: Box = (0, 0, 10, 10)
HALF: Box = (0, 0, 10, 5)
BESIDE: Box = (10, 0, 20, 10)
ACROSS: Box = (20, 20, 30, 30)


@pytest.mark.parametrize(
    ("other", "shared", "part"),
    [(ONE, 1.0, 1.0), (HALF, 0.5, 1.0), (BESIDE, 0.0, 0.0), (ACROSS, 0.0, 0.0)],
)
def test_what_two_boxes_share(other: Box, shared: float, part: float) -> None:
    assert iou(ONE, other) == iou(other, ONE) == pytest.approx(shared)
    assert overlap_coefficient(ONE, other) == overlap_coefficient(other, ONE) == part


def test_one_with_many() -> None:
    assert ious(ONE, np.array([HALF, ACROSS, ONE], np.float64)) == pytest.approx([0.5, 0.0, 1.0])
    assert ious(ONE, np.zeros((0, 4))).shape == (0,)


def test_the_shared_part_is_of_the_smaller_box() -> None:
    assert overlap_coefficient(ONE, (6, 0, 14, 10)) == pytest.approx(0.5)
    assert overlap_coefficient((0, 0, 40, 40), (38, 38, 42, 42)) == pytest.approx(0.25)


def test_empty_boxes_share_nothing() -> None:
    assert overlap_coefficient(ONE, (5, 5, 5, 5)) == 0.0
    assert iou((5, 5, 5, 5), (5, 5, 5, 5)) == 0.0


def test_a_box_grows_by_shares_of_its_size_and_stays_inside() -> None:
    assert grown((40, 50, 60, 60), 0.1, 0.5, 100, 80) == (38, 45, 62, 65)
    assert grown((-5, 1, 99, 79), 0.1, 0.1, 100, 80) == (0, 0, 100, 80)
    assert grown((40, 50, 60, 60), -0.1, 0.0, 100, 80) == (42, 50, 58, 60)
