"""Boxes, in pixels of the frame, and camera zones. Pure."""

import math
from collections.abc import Sequence

from common.records.frames import Box, Point, Zone, ZoneKind
from common.records.recognitions import PlateReading

_EDGE_SHARE = 0.01


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


def in_zones(
    readings: Sequence[PlateReading], zones: Sequence[Zone], width_px: int, height_px: int
) -> tuple[PlateReading, ...]:
    """Return the readings whose plate's middle is in an include zone and in no exclude zone.

    Without include zones the whole frame counts as included.
    """
    if not zones or not width_px or not height_px:
        return tuple(readings)
    return tuple(r for r in readings if _is_wanted(r.box, zones, width_px, height_px))


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
