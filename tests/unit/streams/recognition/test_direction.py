"""The direction of a vehicle, from the boxes of synthetic tracks."""

import math
from collections.abc import Iterator

import pytest

from common.records.frames import Box
from common.records.recognitions import Direction
from streams.recognition.geometry import direction_between

WIDTH_PX, HEIGHT_PX = 1920, 1080
_FOCAL_PX = 1800.0
"""Focal length of a camera with a field of view of 56 degrees."""
_PLATE_M, _PLATE_HEIGHT_M = 0.52, 0.11


def seen(side_m: float, away_m: float, *, noise: float = 0.0) -> Box:
    """Return the box of a plate at this lateral offset and distance from the camera."""
    scale = _FOCAL_PX / away_m
    width, height = _PLATE_M * scale * (1 + noise), _PLATE_HEIGHT_M * scale * (1 - noise)
    middle = WIDTH_PX / 2 + side_m * scale, HEIGHT_PX / 2 + 3 * scale
    return Box(x=middle[0] - width / 2, y=middle[1] - height / 2, width=width, height=height)


@pytest.mark.parametrize("side_m", [-3.0, -1.0, 0.0, 0.5, 3.0])
@pytest.mark.parametrize(("far_m", "near_m"), [(30, 8), (20, 10), (14, 10)])
@pytest.mark.parametrize("noise", [-0.04, 0.0, 0.04])
def test_vehicles_in_a_lane_approach_or_recede(
    side_m: float, far_m: float, near_m: float, noise: float
) -> None:
    far, near = seen(side_m, far_m, noise=noise), seen(side_m, near_m)

    assert direction_between(far, near) is Direction.TOWARDS
    assert direction_between(near, far) is Direction.AWAY


@pytest.mark.parametrize("away_m", [5.0, 12.0, 25.0])
@pytest.mark.parametrize("noise", [-0.05, 0.0, 0.05])
def test_vehicles_that_cross_the_image_go_left_or_right(away_m: float, noise: float) -> None:
    half = away_m * WIDTH_PX / _FOCAL_PX / 2 * 0.8
    start, end = seen(-half, away_m, noise=noise), seen(half, away_m)

    assert direction_between(start, end) is Direction.RIGHT
    assert direction_between(end, start) is Direction.LEFT


def _unclear() -> Iterator[tuple[str, Box, Box]]:
    here = seen(0, 12)
    yield "it hardly moves", here, seen(0.3, 12, noise=0.05)
    yield "it hardly grows", here, seen(0, 10.5)
    yield "it grows in width alone", here, Box(x=here.x, y=here.y, width=200, height=here.height)
    yield "it comes across", seen(-3, 14), seen(3, 9)
    yield "a box of nothing", here, Box(x=0, y=0, width=0, height=0)


@pytest.mark.parametrize(
    ("first", "last"),
    [pytest.param(first, last, id=name) for name, first, last in _unclear()],
)
def test_an_unclear_direction_is_not_reported(first: Box, last: Box) -> None:
    assert direction_between(first, last) is None
    assert direction_between(last, first) is None


def test_a_box_is_where_the_drawing_says() -> None:
    box = seen(0, 9.36)

    assert math.isclose(box.width, 100)
    assert math.isclose(box.x + 50, WIDTH_PX / 2)
