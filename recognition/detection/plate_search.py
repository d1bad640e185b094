"""Finds plates of any size: in the image, in windows around small plates, and in close-ups.

The detector was trained on photos of cars. If a plate fills a third of the image or more, the
detector finds only a part of the plate or nothing. In an image shrunk to 160 px (and to 96 px for
a possible close-up), the plate has a usual size. A box's score does not show whether the box
contains the whole plate, so several boxes of a plate are returned, and the engine chooses between
them by text. Each size takes a fifth of the time of the first pass (1080p), and is only needed for
an image in which the first pass finds no plate of usual size with certainty
(tools/training/HISTORY.md).
"""

from collections.abc import Sequence
from dataclasses import replace

from recognition.analysis_hints import AnalysisHints
from recognition.detection.detector import Detector
from recognition.detection.windows import search_with_windows
from recognition.types import BgrImage, Detection, iou, overlap_coefficient

_SHRUNK_PX, _CLOSE_UP_PX = 160, 96
"""Longer side of shrunk images."""

_MIN_WIDE_SHARE = 0.15
"""Minimum width of a detection in a shrunk image, as a fraction of the image's width."""

_MAX_USUAL_SHARE = 0.25
"""Maximum width of plates on which the detector was trained, as a fraction of the image's width."""

_MAX_SMALL_SIDE_PX, _MIN_FLAT_ASPECT = 512, 2.2
"""Images with sides of at most this length, or as flat as a plate, may be close-ups."""

_CERTAIN_SCORE = 0.5
SAME_PLATE_OVERLAP = 0.6
"""Minimum overlap of two boxes of one plate, as a fraction of the smaller box."""

_SAME_BOX_IOU = 0.5
"""Boxes of both passes with at least this overlap belong to the same plate."""

_MIN_RELATIVE_SCORE = 0.3
"""Minimum score of another box of the same plate, relative to the score of a better box."""


def find_plates(
    detector: Detector, images: list[BgrImage], hints: Sequence[AnalysisHints]
) -> list[list[Detection]]:
    """Return plates and candidates in each image, best first, in pixels of the image.

    A plate that is large in its image can have several boxes. ``hints`` are the expected plates of
    each image. Detectors with one canvas search all images in a batch, without windows.
    """
    if detector.has_canvases:
        near = [search_with_windows(detector, *one) for one in zip(images, hints, strict=True)]
    else:
        near = detector.detect_all(images)
    return [_add_close_ups(detector, *one) for one in zip(images, near, strict=True)]


def _add_close_ups(detector: Detector, image: BgrImage, near: list[Detection]) -> list[Detection]:
    height, width = image.shape[:2]
    usual = [one for one in near if one.width_px < _MAX_USUAL_SHARE * width]
    if any(one.score >= _CERTAIN_SCORE for one in usual):
        return near
    may_be_close_up = max(height, width) <= _MAX_SMALL_SIDE_PX or width >= _MIN_FLAT_ASPECT * height
    if not (detector.has_canvases or may_be_close_up):
        return near
    passes = [near, _search_shrunk(detector, image, _SHRUNK_PX, usual)]
    if may_be_close_up or any(_is_wide(one, image) for found in passes for one in found):
        passes.append(_search_shrunk(detector, image, _CLOSE_UP_PX, usual))
    return _worth_reading(passes)[: len(passes) * detector.max_plates]


def _search_shrunk(
    detector: Detector, image: BgrImage, largest_px: int, usual: list[Detection]
) -> list[Detection]:
    """Return the large plates in the image, found after shrinking it to ``largest_px``."""
    canvas = detector.smallest_canvas
    far = detector.search(image, detector.threshold, canvas=canvas, largest_px=largest_px)
    return [_refine_edges(one, usual) for one in far if _is_wide(one, image)]


def _is_wide(found: Detection, image: BgrImage) -> bool:
    return bool(found.width_px >= _MIN_WIDE_SHARE * image.shape[1])


def _refine_edges(far: Detection, usual: list[Detection]) -> Detection:
    """Return the detection, or a detection of the same plate with a more precise box.

    ``usual`` are detections of the first pass, which finds only parts of large plates.
    """
    same = max(usual, key=lambda one: iou(one.box, far.box), default=far)
    if iou(same.box, far.box) < _SAME_BOX_IOU:
        return far
    return replace(same, score=max(same.score, far.score))


def deduplicate_detections(found: list[Detection]) -> list[Detection]:
    """Return the detections, best first, without those mostly inside or around a better one.

    The first pass detects parts of a large plate, which overlap the whole plate too little for the
    usual suppression.
    """
    kept: list[Detection] = []
    for one in sorted(found, key=lambda one: -one.score):
        if all(overlap_coefficient(one.box, other.box) < SAME_PLATE_OVERLAP for other in kept):
            kept.append(one)
    return kept


def _worth_reading(passes: list[list[Detection]]) -> list[Detection]:
    """Return the detections of all passes, best first. An uncertain plate has one box per pass."""
    found = {one: None for of_pass in passes for one in deduplicate_detections(of_pass)}
    kept: list[Detection] = []
    for one in sorted(found, key=lambda one: -one.score):
        better = (o for o in kept if overlap_coefficient(one.box, o.box) >= SAME_PLATE_OVERLAP)
        if all(one.score >= _MIN_RELATIVE_SCORE * other.score for other in better):
            kept.append(one)
    return kept
