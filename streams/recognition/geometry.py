"""Geometry of boxes, in pixels of the frame, and of camera zones. No I/O."""

import math
from collections.abc import Sequence
from typing import Protocol, TypeVar

from common.records.frames import Box, Point, Zone, ZoneKind
from common.records.recognitions import Direction

_EDGE_SHARE = 0.01
_CLEAR_GROWTH = math.log(1.25)
"""Minimum growth (natural logarithm) that shows a direction. Boxes of one plate differ by about
10 % from frame to frame."""
_CLEAR_WIDTHS = 2.0
_WIDTHS_BESIDE_AXIS = 7.0
"""The width of a lane, in plate widths."""


def overlap(one: Box, other: Box) -> float:
    """Return the intersection over union of two boxes, 0..1."""
    width = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    height = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (one.width * one.height + other.width * other.height - shared)


def centre(box: Box) -> tuple[float, float]:
    """Return the centre of a box."""
    return box.x + box.width / 2, box.y + box.height / 2


def distance_in_widths(one: Box, other: Box) -> float:
    """Return the distance between the centres, in widths of the wider box."""
    (x1, y1), (x2, y2) = centre(one), centre(other)
    return math.hypot(x2 - x1, y2 - y1) / max(one.width, other.width, 1.0)


def moved(box: Box, x_px: float, y_px: float) -> Box:
    """Return the box, shifted by ``x_px`` and ``y_px``."""
    return Box(x=box.x + x_px, y=box.y + y_px, width=box.width, height=box.height)


def share_within(box: Box, other: Box) -> float:
    """Return the fraction of ``box``, 0..1, that lies within ``other``."""
    width = min(box.x + box.width, other.x + other.width) - max(box.x, other.x)
    height = min(box.y + box.height, other.y + other.height) - max(box.y, other.y)
    area = box.width * box.height
    return max(0.0, width) * max(0.0, height) / area if area > 0 else 0.0


def direction_between(first: Box, last: Box) -> Direction | None:
    """Return the direction of a plate between two of its boxes, or None if it is not clear.

    An approaching plate grows in width and height; a crossing plate moves sideways and does not
    change its size. A vehicle that drives straight past the camera also moves sideways: while its
    plate grows by the factor e, it moves by its distance from the camera's axis (pinhole model).
    """
    if min(first.width, first.height, last.width, last.height) <= 0:
        return None
    wider, higher = _growth(first.width, last.width), _growth(first.height, last.height)
    growth = min(wider, higher, key=abs)
    (x1, _), (x2, _) = centre(first), centre(last)
    sideways = (x2 - x1) / max((first.width + last.width) / 2, 1.0)
    agrees = wider * higher > 0 and abs(growth) >= _CLEAR_GROWTH
    if agrees and abs(sideways) <= _WIDTHS_BESIDE_AXIS * abs(growth):
        return Direction.TOWARDS if growth > 0 else Direction.AWAY
    most = max(abs(wider), abs(higher))
    if abs(sideways) >= max(_CLEAR_WIDTHS, 4 * _WIDTHS_BESIDE_AXIS * most):
        return Direction.RIGHT if sideways > 0 else Direction.LEFT
    return None


def _growth(first_px: float, last_px: float) -> float:
    """Return the natural logarithm of the ratio of the last size to the first size."""
    return math.log(last_px / first_px)


def touches_edge(box: Box, width_px: int, height_px: int) -> bool:
    """Return whether a box is so close to the frame's edge that its plate is probably cut off.

    Detectors are accurate to about 1 % of the frame. The result is False for an unknown size (0).
    """
    if not width_px or not height_px:
        return False
    edge_x, edge_y = _EDGE_SHARE * width_px, _EDGE_SHARE * height_px
    return (
        min(box.x - edge_x, box.y - edge_y) < 0
        or box.x + box.width > width_px - edge_x
        or box.y + box.height > height_px - edge_y
    )


class HasBox(Protocol):
    """An object in a frame."""

    @property
    def box(self) -> Box:
        """The bounding box of the object."""


_InFrame = TypeVar("_InFrame", bound=HasBox)


def in_zones(
    plates: Sequence[_InFrame], zones: Sequence[Zone], width_px: int, height_px: int
) -> tuple[_InFrame, ...]:
    """Return the plates whose centre is in an include zone and not in an exclude zone.

    Without include zones, the whole frame counts as included.
    """
    if not zones or not width_px or not height_px:
        return tuple(plates)
    return tuple(r for r in plates if _is_wanted(r.box, zones, width_px, height_px))


def _is_wanted(box: Box, zones: Sequence[Zone], width_px: int, height_px: int) -> bool:
    x, y = centre(box)
    middle = Point(x=x / width_px, y=y / height_px)
    inside = {zone.kind for zone in zones if contains(zone.points, middle)}
    has_include = any(zone.kind is ZoneKind.INCLUDE for zone in zones)
    return ZoneKind.EXCLUDE not in inside and (ZoneKind.INCLUDE in inside or not has_include)


def contains(polygon: Sequence[Point], point: Point) -> bool:
    """Return whether a point is inside a polygon.

    **Source:** W. Randolph Franklin, PNPOLY (even-odd rule by ray casting).
    """
    inside = False
    previous = polygon[-1]
    for corner in polygon:
        if (corner.y > point.y) != (previous.y > point.y):
            slope = (previous.x - corner.x) / (previous.y - corner.y)
            if point.x < corner.x + slope * (point.y - corner.y):
                inside = not inside
        previous = corner
    return inside
