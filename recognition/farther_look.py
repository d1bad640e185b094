"""Close-ups: the detector knows plates on cars, so a picture of little more is seen from afar.

A plate that fills a third of a picture or all of it is larger than any that the detector learnt:
it finds a part of it, or nothing. Shrunk to 160 px, and to 96 where it may be a close-up, the
picture shows it as a street does. Which box holds all of a plate its score does not tell, so boxes
of one plate are all handed on, and what is read of them decides (`recognition/engine.py`). It costs
3.7 ms of processor time beside 18.5 of the first look (a 1080p picture), and only where that finds
no plate of usual size for sure: on 43 of the 414 photos of ``val``.
"""

from dataclasses import replace
from typing import Protocol

from recognition.boxes import iou, part_shared
from recognition.detector import Detector
from recognition.types import BgrImage, Detection

_LARGEST_PX, _CLOSE_UP_PX = 160, 96
"""Of the shrunk pictures; grown to multiples of the detector's stride."""

_WIDE_SHARE = 0.15
"""Of the picture's width: only from here on a plate of the shrunk picture is large enough."""

_USUAL_SHARE = 0.25
"""Of the picture's width: up to here a plate has a size that the detector knows."""

_SMALL_SIDE_PX, _FLAT_ASPECT = 512, 2.2
"""Only pictures up to this side, or as flat as a plate, are worth a second look of full cost."""

_SURE_SCORE = 0.5
SAME_PLATE_SHARE = 0.6
_SAME_BOX_IOU = 0.5
"""Boxes of both looks that overlap by so much are taken for one plate."""

_WEAK = 0.3
"""Of a better box's score: another one of the same plate that scores less is not worth reading."""


class Finder(Protocol):
    """What finds plates in images."""

    def find_all(self, images: list[BgrImage]) -> list[list[Detection]]:
        """Return the plates in each image, best first, in pixels of the image."""


class FartherLook:
    """Finds plates of any share of the picture. Not for two threads at once."""

    def __init__(self, detector: Detector, near: Finder) -> None:
        """Take the detector, and what finds plates that are not large in the picture."""
        self._detector = detector
        self._near = near

    def find_all(self, images: list[BgrImage]) -> list[list[Detection]]:
        """Return what may be plates in each image, best first, in pixels of the image.

        Of a plate that is large in its image there may be several boxes.
        """
        near = self._near.find_all(images)
        return [self._with_large(image, one) for image, one in zip(images, near, strict=True)]

    def _with_large(self, image: BgrImage, near: list[Detection]) -> list[Detection]:
        height, width = image.shape[:2]
        usual = [one for one in near if one.width_px < _USUAL_SHARE * width]
        if any(one.score >= _SURE_SCORE for one in usual):
            return near
        may_be_close_up = max(height, width) <= _SMALL_SIDE_PX or width >= _FLAT_ASPECT * height
        if not (self._detector.takes_any_size or may_be_close_up):
            return near
        looks = [near, self._large(image, _LARGEST_PX, usual)]
        if may_be_close_up or any(_is_wide(one, image) for look in looks for one in look):
            looks.append(self._large(image, _CLOSE_UP_PX, usual))
        return _worth_reading(looks)[: len(looks) * self._detector.max_plates]

    def _large(self, image: BgrImage, largest_px: int, usual: list[Detection]) -> list[Detection]:
        """Return what is large in the picture, shrunk to so many pixels."""
        stride = self._detector.stride
        far = self._detector.search(
            image, self._detector.threshold, largest_px=-(-largest_px // stride) * stride
        )
        return [_with_near_edges(one, usual) for one in far if _is_wide(one, image)]


def _is_wide(found: Detection, image: BgrImage) -> bool:
    return bool(found.width_px >= _WIDE_SHARE * image.shape[1])


def _with_near_edges(far: Detection, usual: list[Detection]) -> Detection:
    """The find from afar; in the box of the near look, which sees more pixels, if that has it.

    Only of plates of usual size: of larger ones the near look sees a part (with those up to 0.45 of
    the picture's width, of 372 with half their width around them 285 are read in place of 333).
    """
    same = max(usual, key=lambda one: iou(one.box, far.box), default=far)
    if iou(same.box, far.box) < _SAME_BOX_IOU:
        return far
    return replace(same, score=max(same.score, far.score))


def one_a_plate(found: list[Detection]) -> list[Detection]:
    """The detections best first, without those that lie mostly within a better one, or around it.

    The near look finds parts of a large plate, which overlap all of it too little for the usual
    suppression. A box that is found from afar is coarser than one found near.
    """
    kept: list[Detection] = []
    for one in sorted(found, key=lambda one: -one.score):
        if all(part_shared(one.box, other.box) < SAME_PLATE_SHARE for other in kept):
            kept.append(one)
    return kept


def _worth_reading(looks: list[list[Detection]]) -> list[Detection]:
    """What all looks found, best first; of a plate that none has for sure, a box a look."""
    found = {one: None for look in looks for one in one_a_plate(look)}
    kept: list[Detection] = []
    for one in sorted(found, key=lambda one: -one.score):
        better = (o for o in kept if part_shared(one.box, o.box) >= SAME_PLATE_SHARE)
        if all(one.score >= _WEAK * other.score for other in better):
            kept.append(one)
    return kept
