"""Boxes, in pixels of the frame, and camera zones. Pure."""

import math
from collections.abc import Sequence
from typing import Protocol, TypeVar

from common.records.frames import Box, Point, Zone, ZoneKind
from common.records.recognitions import Direction

_EDGE_SHARE = 0.01
_CLEAR_GROWTH = math.log(1.25)
"""Boxes of one plate differ by about a tenth from frame to frame."""
_CLEAR_WIDTHS = 2.0
_WIDTHS_BESIDE_AXIS = 7.0
"""A lane, in widths of a plate."""


def overlap(one: Box, other: Box) -> float:
    """Return intersection over union, 0..1."""
    width = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    height = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (one.width * one.height + other.width * other.height - shared)


def centre(box: Box) -> tuple[float, float]:
    """Return the middle of a box."""
    return box.x + box.width / 2, box.y + box.height / 2


def distance_in_widths(one: Box, other: Box) -> float:
    """Return the distance of the middles in widths of the wider box."""
    (x1, y1), (x2, y2) = centre(one), centre(other)
    return math.hypot(x2 - x1, y2 - y1) / max(one.width, other.width, 1.0)


def moved(box: Box, x_px: float, y_px: float) -> Box:
    """Return the box shifted."""
    return Box(x=box.x + x_px, y=box.y + y_px, width=box.width, height=box.height)


def share_within(box: Box, other: Box) -> float:
    """Return the share of a box, 0..1, that lies within another one."""
    width = min(box.x + box.width, other.x + other.width) - max(box.x, other.x)
    height = min(box.y + box.height, other.y + other.height) - max(box.y, other.y)
    area = box.width * box.height
    return max(0.0, width) * max(0.0, height) / area if area > 0 else 0.0


def direction_between(first: Box, last: Box) -> Direction | None:
    """Return which way a plate went between two boxes of it, None where that is not clear.

    What comes nearer grows, in width and in height; what goes by moves sideways and keeps its size.
    Something that comes straight on beside the camera moves sideways too, by its distance from the
    camera's axis (in widths of a plate) for each e-fold that it grows (the pinhole model).
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
    """Return the natural logarithm of how many times larger the last is."""
    return math.log(last_px / first_px)


def touches_edge(box: Box, width_px: int, height_px: int) -> bool:
    """Return whether a box is so near to the frame's edge that its plate is likely cut off.

    Detectors place an edge within about a hundredth of the frame. False for a frame whose size is
    not known (0).
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
    """Something in a frame."""

    @property
    def box(self) -> Box:
        """Its place."""


_InFrame = TypeVar("_InFrame", bound=HasBox)


def in_zones(
    plates: Sequence[_InFrame], zones: Sequence[Zone], width_px: int, height_px: int
) -> tuple[_InFrame, ...]:
    """Return the plates whose middle is in an include zone and in no exclude zone.

    Without include zones the whole frame counts as included.
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
    """Return whether a point lies in a polygon.

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
