"""Crops of plates."""

import cv2
import numpy as np
import pytest

from recognition.reading.crops import MAX_TURNED_PX, cut_plate, cut_turned, joined_rows
from recognition.types import BgrImage, Detection


def test_crop_grows_by_its_margins() -> None:
    image = np.zeros((100, 200, 3), np.uint8)
    crop = cut_plate(image, Detection(50, 40, 150, 60, 0.9, "plate"), 0.1, 0.25)
    assert crop.shape == (30, 120, 3)


@pytest.mark.parametrize(
    "edges",
    [(-5, -5, 10, 10), (195, 95, 230, 130), (200, 100, 200, 100), (300, 300, 310, 310)],
)
def test_crop_stays_inside_and_is_never_empty(edges: tuple[float, float, float, float]) -> None:
    image = np.zeros((100, 200, 3), np.uint8)
    crop = cut_plate(image, Detection(*edges, 0.9, "plate"), 0.1, 0.1)
    assert min(crop.shape[:2]) >= 1
    assert crop.shape[0] <= 100
    assert crop.shape[1] <= 200


def hung(degrees: float) -> tuple[BgrImage, Detection]:
    """Return an image of a rotated 120x30 px plate, black in its left half, and the plate's box."""
    plate = np.full((30, 120, 3), 255, np.uint8)
    plate[:, :60] = 0
    angle = np.deg2rad(degrees)
    cos, sin = np.cos(angle), np.sin(angle)
    turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0]])
    turn[:, 2] = np.array([150.0, 100.0]) - turn[:, :2] @ np.array([60.0, 15.0])
    image = np.full((200, 300, 3), 128, np.uint8)
    cv2.warpAffine(plate, turn, (300, 200), dst=image, borderMode=cv2.BORDER_TRANSPARENT)
    half = np.array([120 * cos + 30 * abs(sin), 120 * abs(sin) + 30 * cos]) / 2
    return image, Detection(*(150 - half[0], 100 - half[1], 150 + half[0], 100 + half[1]), 1, "")


@pytest.mark.parametrize("degrees", [-20, -10, 0, 10, 20])
def test_a_plate_that_hangs_comes_upright(degrees: float) -> None:
    crop = cut_turned(*hung(degrees), 0.0, 0.0, degrees)
    assert crop.shape == (30, 120, 3)
    assert crop[2:-2, 2:58].max() < 30
    assert crop[2:-2, 62:-2].min() > 225


def test_an_upright_plate_has_its_margins() -> None:
    crop = cut_turned(*hung(10), 0.1, 0.2, 10)
    assert crop.shape == (42, 144, 3)
    assert (crop[:4] == 128).all()
    assert (crop[:, :8] == 128).all()


def test_turning_in_the_wrong_direction_gives_a_crop_too() -> None:
    crop = cut_turned(*hung(15), 0.0, 0.0, -15)
    assert min(crop.shape[:2]) > 10


@pytest.mark.parametrize(
    "edges",
    [(-5, -5, 10, 10), (0, 0, 200, 100), (200, 100, 200, 100), (0, 0, 200, 3), (0, 0, 2, 90)],
)
def test_any_box_gives_a_bounded_crop(edges: tuple[float, float, float, float]) -> None:
    image = np.full((100, 200, 3), 77, np.uint8)
    crop = cut_turned(image, Detection(*edges, 0.9, "plate"), 0.05, 0.08, 20)
    assert min(crop.shape[:2]) >= 1
    assert max(crop.shape[:2]) <= 300
    assert (crop == 77).all()


def test_a_large_plate_comes_small_and_whole() -> None:
    image, box = hung(10)
    large = np.asarray(cv2.resize(image, None, fx=20, fy=20), np.uint8)
    left, top, right, bottom = (20 * edge for edge in box.box)
    crop = cut_turned(large, Detection(left, top, right, bottom, 1, ""), 0.0, 0.0, 10)
    assert max(crop.shape[:2]) <= MAX_TURNED_PX
    assert crop.shape[1] / crop.shape[0] == pytest.approx(4, rel=0.05)
    assert crop[9:-9, 9 : crop.shape[1] // 2 - 9].max() < 30
    assert crop[9:-9, crop.shape[1] // 2 + 9 : -9].min() > 225


@pytest.mark.parametrize("edges", [(0, 0, 10_000, 60), (0, 0, 60, 4000), (-50, -50, 9000, 3900)])
def test_the_largest_box_takes_bounded_room(edges: tuple[float, float, float, float]) -> None:
    image = np.zeros((4000, 10_000, 3), np.uint8)
    for degrees in (-40, 40):
        crop = cut_turned(image, Detection(*edges, 1, ""), 0.05, 0.08, degrees)
        assert max(crop.shape[:2]) <= 2 * MAX_TURNED_PX


def test_rows_are_joined_side_by_side() -> None:
    crop = np.repeat(np.arange(100, dtype=np.uint8), 60).reshape(100, 20, 3)
    line = joined_rows(crop)
    assert line.shape == (54, 40, 3)
    assert line[0, 0, 0] == 0
    assert line[-1, 19, 0] == 53
    assert line[0, 20, 0] == 46
    assert line[-1, -1, 0] == 99


@pytest.mark.parametrize("height", [1, 2, 3, 7])
def test_rows_of_hardly_any_height_are_joined(height: int) -> None:
    assert joined_rows(np.zeros((height, 5, 3), np.uint8)).shape == (-(-height // 2), 10, 3)
