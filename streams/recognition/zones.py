"""Which plates lie where the camera's zones want them. Pure."""

from collections.abc import Sequence

from contracts.frames import Box, Point, Zone, ZoneKind
from contracts.readings import PlateReading
from streams.recognition.boxes import centre


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
