"""Plates that are found where they are expected, and need not be read."""

import math

from common.records.frames import Box as FrameBox
from recognition.analysis_hints import AnalysisHints, KnownPlate
from recognition.types import Box, Detection, iou, overlap_coefficient

_SAME_PLACE_IOU = 0.35
"""Of an expected place and a plate found there: boxes of one plate differ by a tenth."""

_SAME_PLATE_OVERLAP = 0.6

_MAX_WIDTH_RATIO = 1.3

_MIN_SCORE = 0.3
"""What scores less may be no plate, however well it fits; its text tells."""

_NEAR_WIDTHS = 1.5
"""Another plate as near as this to an expected place may be the one that is expected; and a plate
as near as this to another expected place may be that one."""

_RIVAL_SCORE = 0.25
"""Of the plate's own score: what scores less beside it is no plate."""


def split_known(
    found: list[Detection], hints: AnalysisHints
) -> tuple[list[Detection], tuple[KnownPlate, ...]]:
    """Return the detections that are to be read, and the plates that are where they were expected.

    A plate near which there is another one is read: either may be the one that is expected. So is
    one near to which another plate is expected, as it may be that one.
    """
    best = {number: _best(found, expected) for number, expected in enumerate(hints.known)}
    there = {
        number: one
        for number, one in best.items()
        if one is not None and not _is_doubtful(one, number, found, hints)
    }
    unknown = [one for one in found if not any(_is_same(one, it) for it in there.values())]
    return unknown, tuple(KnownPlate(number, _box(one)) for number, one in there.items())


def _best(found: list[Detection], expected: FrameBox) -> Detection | None:
    fitting = (one for one in found if one.score >= _MIN_SCORE and _fits(one, expected))
    return max(fitting, key=lambda one: iou(one.box, _edges(expected)), default=None)


def _is_doubtful(one: Detection, number: int, found: list[Detection], hints: AnalysisHints) -> bool:
    expected = hints.known[number]
    elsewhere = (*hints.known[:number], *hints.known[number + 1 :], *hints.others)
    return any(_is_rival(other, one, expected) for other in found) or any(
        _distance(one.box, _edges(other)) <= _NEAR_WIDTHS * expected.width for other in elsewhere
    )


def _fits(found: Detection, expected: FrameBox) -> bool:
    widths = sorted((expected.width, found.width_px))
    is_as_wide = widths[1] <= _MAX_WIDTH_RATIO * widths[0]
    return is_as_wide and iou(found.box, _edges(expected)) >= _SAME_PLACE_IOU


def _is_same(one: Detection, other: Detection) -> bool:
    """Return whether two detections are of one plate, or one of a piece of it."""
    return overlap_coefficient(one.box, other.box) >= _SAME_PLATE_OVERLAP


def _is_rival(one: Detection, best: Detection, expected: FrameBox) -> bool:
    if _is_same(one, best) or one.score < _RIVAL_SCORE * best.score:
        return False
    return _distance(one.box, _edges(expected)) <= _NEAR_WIDTHS * expected.width


def _edges(expected: FrameBox) -> Box:
    return expected.x, expected.y, expected.x + expected.width, expected.y + expected.height


def _box(found: Detection) -> FrameBox:
    return FrameBox(x=found.left, y=found.top, width=found.width_px, height=found.height_px)


def _distance(one: Box, other: Box) -> float:
    return math.hypot(
        (one[0] + one[2] - other[0] - other[2]) / 2, (one[1] + one[3] - other[1] - other[3]) / 2
    )
