"""Identifies plates at expected positions, which do not need to be read."""

import math

from common.records.frames import Box as FrameBox
from recognition.analysis_hints import AnalysisHints, KnownPlate
from recognition.types import Box, Detection, iou, overlap_coefficient

_SAME_PLACE_IOU = 0.35
"""Minimum overlap of an expected and a found plate. Boxes of one plate differ by about 10 %."""

_SAME_PLATE_OVERLAP = 0.6

_MAX_WIDTH_RATIO = 1.3

_MIN_SCORE = 0.3
"""Minimum score of a known plate. A less certain detection may not be a plate, and is read."""

_NEAR_WIDTHS = 1.5
"""Distance, in widths of the expected box, within which a plate can be mistaken for another
plate."""

_RIVAL_SCORE = 0.25
"""Minimum score of another plate nearby, relative to the plate's score."""


def split_known(
    found: list[Detection], hints: AnalysisHints
) -> tuple[list[Detection], tuple[KnownPlate, ...]]:
    """Return the detections to read, and the plates found at expected positions.

    A plate is also read if another plate is nearby, because either may be the expected plate, or
    if another plate is expected nearby, because this plate may be that plate.
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
    """Return whether two detections are of the same plate, possibly of only a part of the plate."""
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
