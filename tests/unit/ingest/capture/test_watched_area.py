"""Where movement counts, in pictures of any size."""

import numpy as np
import pytest

from common.records.frames import Point, Zone, ZoneKind
from ingest.capture.messages import MotionRules
from ingest.capture.sampling import GreyImage, MotionGate, WatchedArea


def _zone(kind: ZoneKind, left: float, right: float) -> Zone:
    corners = ((left, 0.0), (right, 0.0), (right, 1.0), (left, 1.0))
    return Zone(kind=kind, points=tuple(Point(x=x, y=y) for x, y in corners))


INCLUDE, EXCLUDE = ZoneKind.INCLUDE, ZoneKind.EXCLUDE


@pytest.mark.parametrize("width", [100, 178, 300])
@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        ((), [True, True, True]),
        ((_zone(INCLUDE, 0, 0.4),), [True, False, False]),
        ((_zone(EXCLUDE, 0, 0.4),), [False, True, True]),
        ((_zone(INCLUDE, 0, 0.7), _zone(EXCLUDE, 0, 0.4)), [False, True, False]),
        ((_zone(INCLUDE, 0, 0.3), _zone(INCLUDE, 0.8, 1)), [True, False, True]),
        ((_zone(EXCLUDE, 0, 1),), [False, False, False]),
    ],
    ids=["none", "include", "exclude", "both", "two", "all excluded"],
)
def test_movement_counts_in_zones(
    zones: tuple[Zone, ...], expected: list[bool], width: int
) -> None:
    changed = np.ones((100, width), np.bool_)

    counted = WatchedArea(zones).only(changed)

    assert [bool(counted[50, round(share * width)]) for share in (0.15, 0.55, 0.95)] == expected


def _seen(column: int) -> GreyImage:
    image = np.full((100, 178), 80, np.uint8)
    image[40:60, column : column + 10] = 200
    return image


def test_what_moves_beside_the_zones_opens_no_gate() -> None:
    gate = MotionGate(MotionRules(hold_seconds=3))
    gate.area = WatchedArea([_zone(INCLUDE, 0, 0.4)])
    gate.passes(_seen(150), 0)

    assert not gate.passes(_seen(130), 10_000)
    assert gate.passes(_seen(20), 20_000)
    gate.area = WatchedArea([_zone(INCLUDE, 0.6, 1)])
    gate.passes(_seen(20), 60_000)
    assert not gate.passes(_seen(40), 90_000)
    assert gate.passes(_seen(140), 120_000)
