"""Close-ups: the detector knows plates on cars, so a picture of little more is seen from afar.

A plate that fills a third of a picture or all of it is larger than any that the detector learnt:
it finds a part of it, or nothing. Shrunk to 160 px, the picture shows it as a street does. Of the
372 plates of ``val`` cut out of their photos with 0 to 150 % of their width around them (eight
margins, 2,976 pictures) 2,701 are read with it (docs/accuracy.md). When it was made, with the
first models of 2026-11-22, 2,569 were read with it and 1,299 without, on the photos themselves 333
and 331. It costs 3.7 ms of processor time beside 18.5 of the first look (a 1080p picture), and only
where that finds no plate of usual size for sure: on 43 of the 414 photos.
"""

from dataclasses import replace
from typing import Protocol

from recognition.boxes import iou, part_shared
from recognition.detector import Detector
from recognition.types import BgrImage, Detection

_LARGEST_PX = 160
"""Of the shrunk picture; grown to a multiple of the detector's stride."""

_WIDE_SHARE = 0.15
"""Of the picture's width: only from here on a plate of the shrunk picture is large enough."""

_USUAL_SHARE = 0.25
"""Of the picture's width: up to here a plate has a size that the detector knows."""

_SMALL_SIDE_PX, _FLAT_ASPECT = 512, 2.2
"""Only pictures up to this side, or as flat as a plate, are worth a second look of full cost."""

_SURE_SCORE = 0.5
_SAME_PLATE_SHARE = 0.6
_SAME_BOX_IOU = 0.5
"""Boxes of both looks that overlap by so much are taken for one plate."""


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
        self._largest_px = -(-_LARGEST_PX // detector.stride) * detector.stride

    def find(self, image: BgrImage) -> list[Detection]:
        """Return the plates in the image, best first, in pixels of the image."""
        return self.find_all([image])[0]

    def find_all(self, images: list[BgrImage]) -> list[list[Detection]]:
        """Return the plates in each image, best first, in pixels of the image."""
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
        far = self._detector.search(image, self._detector.threshold, largest_px=self._largest_px)
        large = [_with_near_edges(o, usual) for o in far if o.width_px >= _WIDE_SHARE * width]
        return _one_a_plate([*near, *large])[: self._detector.max_plates]


def _with_near_edges(far: Detection, usual: list[Detection]) -> Detection:
    """The find from afar; in the box of the near look, which sees more pixels, if that has it.

    Only of plates of usual size: of larger ones the near look sees a part (with those up to 0.45 of
    the picture's width, of 372 with half their width around them 285 are read in place of 333).
    """
    same = max(usual, key=lambda one: iou(one.box, far.box), default=far)
    if iou(same.box, far.box) < _SAME_BOX_IOU:
        return far
    return replace(same, score=max(same.score, far.score))


def _one_a_plate(found: list[Detection]) -> list[Detection]:
    """The detections best first, without those that lie mostly within a better one, or around it.

    The near look finds parts of a large plate, which overlap all of it too little for the usual
    suppression. A box that is found from afar is coarser than one found near.
    """
    kept: list[Detection] = []
    for one in sorted(found, key=lambda one: -one.score):
        if all(part_shared(one.box, other.box) < _SAME_PLATE_SHARE for other in kept):
            kept.append(one)
    return kept
