"""Close-ups: the detector learnt plates on cars, so an image of little more is shrunk for it.

Of a plate that fills a third of an image or more the detector finds a part, or nothing. Shrunk to
160 px, and to 96 where it may be a close-up, the image shows the plate in a usual size. A box's
score does not say whether it holds all of a plate, so several boxes of one plate are returned, and
the engine decides by their texts. It costs 3.7 ms beside 18.5 of the first pass (1080p), on the one
image in ten where that finds no plate of usual size for sure (tools/training/HISTORY.md).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from recognition.analysis_hints import AnalysisHints
from recognition.detection.detector import Detector
from recognition.types import BgrImage, Detection, iou, overlap_coefficient

_SHRUNK_PX, _CLOSE_UP_PX = 160, 96
"""The longer side of shrunk images; grown to multiples of the detector's stride."""

_MIN_WIDE_SHARE = 0.15
"""Of the image's width: narrower detections in a shrunk image are ignored."""

_MAX_USUAL_SHARE = 0.25
"""Of the image's width: narrower plates have a size that the detector learnt."""

_MAX_SMALL_SIDE_PX, _MIN_FLAT_ASPECT = 512, 2.2
"""Images up to this side, or as flat as a plate, may be close-ups."""

_SURE_SCORE = 0.5
SAME_PLATE_OVERLAP = 0.6
_SAME_BOX_IOU = 0.5
"""Boxes of both passes that overlap by so much are of one plate."""

_MIN_RELATIVE_SCORE = 0.3
"""Of a better box's score: another box of the same plate that scores less is not read."""


class PlateDetector(Protocol):
    """A detector, or one that runs it in several passes."""

    def detect_all(
        self, images: list[BgrImage], hints: Sequence[AnalysisHints] | None = None
    ) -> list[list[Detection]]:
        """Return the plates in each image, best first, in pixels of the image."""


class CloseUpDetector:
    """Detects plates of any share of the image. Not for two threads at a time."""

    def __init__(self, detector: Detector, near: PlateDetector) -> None:
        """Search shrunk images with ``detector``, beside what ``near`` detects in whole ones."""
        self._detector = detector
        self._near = near

    def detect_all(
        self, images: list[BgrImage], hints: Sequence[AnalysisHints] | None = None
    ) -> list[list[Detection]]:
        """Return plates and candidates in each image, best first, in pixels of the image.

        Of a plate that is large in its image there may be several boxes. ``hints`` are the expected
        plates of each image; None: there are none.
        """
        near = self._near.detect_all(images, hints)
        return list(map(self._add_close_ups, images, near))

    def _add_close_ups(self, image: BgrImage, near: list[Detection]) -> list[Detection]:
        height, width = image.shape[:2]
        usual = [one for one in near if one.width_px < _MAX_USUAL_SHARE * width]
        if any(one.score >= _SURE_SCORE for one in usual):
            return near
        may_be_close_up = (
            max(height, width) <= _MAX_SMALL_SIDE_PX or width >= _MIN_FLAT_ASPECT * height
        )
        if not (self._detector.takes_any_size or may_be_close_up):
            return near
        passes = [near, self._search_shrunk(image, _SHRUNK_PX, usual)]
        if may_be_close_up or any(_is_wide(one, image) for found in passes for one in found):
            passes.append(self._search_shrunk(image, _CLOSE_UP_PX, usual))
        return _worth_reading(passes)[: len(passes) * self._detector.max_plates]

    def _search_shrunk(
        self, image: BgrImage, largest_px: int, usual: list[Detection]
    ) -> list[Detection]:
        """Return the large plates of the image, shrunk to so many pixels."""
        stride = self._detector.stride
        far = self._detector.search(
            image, self._detector.threshold, largest_px=-(-largest_px // stride) * stride
        )
        return [_refine_edges(one, usual) for one in far if _is_wide(one, image)]


def _is_wide(found: Detection, image: BgrImage) -> bool:
    return bool(found.width_px >= _MIN_WIDE_SHARE * image.shape[1])


def _refine_edges(far: Detection, usual: list[Detection]) -> Detection:
    """Return the detection, in the box of the first pass, which has more pixels, if it has one.

    Only of plates of usual size: of larger ones the first pass sees a part.
    """
    same = max(usual, key=lambda one: iou(one.box, far.box), default=far)
    if iou(same.box, far.box) < _SAME_BOX_IOU:
        return far
    return replace(same, score=max(same.score, far.score))


def deduplicate_detections(found: list[Detection]) -> list[Detection]:
    """Return the detections best first, without those mostly within a better one, or around it.

    The first pass detects parts of a large plate, which overlap all of it too little for the usual
    suppression.
    """
    kept: list[Detection] = []
    for one in sorted(found, key=lambda one: -one.score):
        if all(overlap_coefficient(one.box, other.box) < SAME_PLATE_OVERLAP for other in kept):
            kept.append(one)
    return kept


def _worth_reading(passes: list[list[Detection]]) -> list[Detection]:
    """Return the detections of all passes, best first; of an unsure plate, a box a pass."""
    found = {one: None for of_pass in passes for one in deduplicate_detections(of_pass)}
    kept: list[Detection] = []
    for one in sorted(found, key=lambda one: -one.score):
        better = (o for o in kept if overlap_coefficient(one.box, o.box) >= SAME_PLATE_OVERLAP)
        if all(one.score >= _MIN_RELATIVE_SCORE * other.score for other in better):
            kept.append(one)
    return kept
