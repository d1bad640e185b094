import math

import pytest

from common.records.frames import Box, Point, Zone, ZoneKind
from streams.recognition.geometry import (
    contains,
    distance_in_widths,
    in_zones,
    moved,
    overlap,
    touches_edge,
)
from tests.unit.streams.recognition.builders import reading

BOX = Box(x=100, y=100, width=100, height=20)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [(0, 0, 1.0), (50, 0, 1 / 3), (100, 0, 0.0), (0, 30, 0.0), (0, 10, 1 / 3)],
)
def test_overlap_is_the_shared_part(x: float, y: float, expected: float) -> None:
    assert overlap(BOX, moved(BOX, x, y)) == pytest.approx(expected)


def test_distance_is_in_widths_of_the_wider_box() -> None:
    wide = Box(x=100, y=200, width=200, height=20)
    assert distance_in_widths(BOX, wide) == pytest.approx(math.hypot(50, 100) / 200)


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        (Box(x=500, y=500, width=100, height=20), False),
        (Box(x=5, y=500, width=100, height=20), True),
        (Box(x=500, y=3, width=100, height=20), True),
        (Box(x=1815, y=500, width=100, height=20), True),
        (Box(x=500, y=1055, width=100, height=20), True),
    ],
    ids=["inside", "left", "top", "right", "bottom"],
)
def test_a_box_at_the_edge_touches_it(box: Box, expected: bool) -> None:
    assert touches_edge(box, 1920, 1080) is expected
    assert not touches_edge(box, 0, 0)


SQUARE = (Point(x=0.2, y=0.2), Point(x=0.8, y=0.2), Point(x=0.8, y=0.8), Point(x=0.2, y=0.8))
INCLUDE = Zone(kind=ZoneKind.INCLUDE, points=SQUARE)
EXCLUDE = Zone(kind=ZoneKind.EXCLUDE, points=SQUARE)
INNER = tuple(Point(x=0.4 + 0.2 * x, y=0.4 + 0.2 * y) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)))


@pytest.mark.parametrize(
    ("zones", "inside", "outside"),
    [
        ((), True, True),
        ((INCLUDE,), True, False),
        ((EXCLUDE,), False, True),
        ((INCLUDE, Zone(kind=ZoneKind.EXCLUDE, points=INNER)), False, False),
    ],
    ids=["none", "include", "exclude", "hole"],
)
def test_zones_select_readings(zones: tuple[Zone, ...], inside: bool, outside: bool) -> None:
    middle, corner = reading("MIDDLE1", x=450, y=485), reading("CORNER1", x=0, y=0)
    found = in_zones([middle, corner], zones, 1000, 1000)
    assert (middle in found, corner in found) == (inside, outside)


def test_a_zone_may_be_bent() -> None:
    bent = tuple(
        Point(x=x, y=y) for x, y in ((0, 0), (1, 0), (1, 1), (0.6, 1), (0.6, 0.4), (0, 0.4))
    )
    assert contains(bent, Point(x=0.2, y=0.2))
    assert contains(bent, Point(x=0.8, y=0.9))
    assert not contains(bent, Point(x=0.2, y=0.8))
