"""Plates that are found where they are expected, and need not be read."""

import math

from common.records.frames import Box as FrameBox
from recognition.look import KnownPlate, Look
from recognition.types import Box, Detection, iou, overlap_coefficient

_SAME_PLACE_IOU = 0.35
"""Of an expected place and a plate found there: boxes of one plate differ by a tenth."""

_SAME_PLATE_OVERLAP = 0.6

_MAX_WIDTH_RATIO = 1.3

_MIN_SCORE = 0.3
"""What scores less may be no plate, however well it fits; its text tells."""

_NEAR_WIDTHS = 1.5
"""Another plate as near as this to an expected place may be the one that is expected."""

_RIVAL_SCORE = 0.25
"""Of the plate's own score: what scores less beside it is no plate."""


def is_known(found: Detection, look: Look) -> bool:
    """Return whether a detection lies in one of the places."""
    return any(_fits(found, place) for place in look.known)


def take_known(
    found: list[Detection], look: Look
) -> tuple[list[Detection], tuple[KnownPlate, ...]]:
    """Return the detections that are to be read, and the plates that are where they were expected.

    A plate near which there is another one is read: either may be the one that is expected.
    """
    followed: list[KnownPlate] = []
    for number, place in enumerate(look.known):
        best = max(
            (one for one in found if one.score >= _MIN_SCORE and _fits(one, place)),
            key=lambda one: iou(one.box, _edges(place)),
            default=None,
        )
        if best is None or any(_is_rival(one, best, place) for one in found):
            continue
        followed.append(KnownPlate(number, _box(best)))
        found = [one for one in found if not _is_same(one, best)]
    return found, tuple(followed)


def _fits(found: Detection, place: FrameBox) -> bool:
    widths = sorted((place.width, found.width_px))
    is_as_wide = widths[1] <= _MAX_WIDTH_RATIO * widths[0]
    return is_as_wide and iou(found.box, _edges(place)) >= _SAME_PLACE_IOU


def _is_same(one: Detection, other: Detection) -> bool:
    return overlap_coefficient(one.box, other.box) >= _SAME_PLATE_OVERLAP


def _is_rival(one: Detection, best: Detection, place: FrameBox) -> bool:
    if _is_same(one, best) or one.score < _RIVAL_SCORE * best.score:
        return False
    return _distance(one.box, _edges(place)) <= _NEAR_WIDTHS * place.width


def _edges(place: FrameBox) -> Box:
    return place.x, place.y, place.x + place.width, place.y + place.height


def _box(found: Detection) -> FrameBox:
    return FrameBox(x=found.left, y=found.top, width=found.width_px, height=found.height_px)


def _distance(one: Box, other: Box) -> float:
    return math.hypot(
        (one[0] + one[2] - other[0] - other[2]) / 2, (one[1] + one[3] - other[1] - other[3]) / 2
    )
