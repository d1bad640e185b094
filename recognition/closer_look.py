"""Coarse to fine: where a plate is small or unsure, the detector looks once more at full size.

A photo is shrunk to the detector's input, and a far plate with it: what is left of it is found late
and boxed badly, and a bad box is misread. A window around it at the photo's own size costs a
quarter of the first look. In pictures of nine photos (1920 x 1440 px) 692 of 750 plates are found
with it and 659 without, 536 and 528 of 633 texts read; in pictures of four 710 and 707 of 747, 535
and 532 of 631. Photos that are shrunk less gain and lose nothing (docs/accuracy.md).
"""

from dataclasses import replace

import numpy as np

from recognition.boxes import iou
from recognition.detector import Detector, best_of_overlapping
from recognition.types import BgrImage, Detection

COARSE_SCORE = 0.1
"""Of the first look's candidates, or the detector's threshold where that is lower. One that the
second look does not find keeps its own score, and is dropped where the threshold is higher."""

_CANVAS_PX = (256, 160)
"""Grown to multiples of the detector's stride."""

_PLATE_PX = 80.0
"""How wide a plate should come out on the canvas."""

_LARGEST_SCALE = 1.5
_LEAST_GAIN = 1.25
_CLEAR = ((32.0, 0.4), (20.0, 0.6))
"""Wider on the first canvas, and surer, needs no second look: either is enough."""

_SAME_PLATE_IOU = 0.2
_MOST_LOOKS = 20


class CloserLook:
    """Finds plates with two looks. Not for two threads at once."""

    def __init__(self, detector: Detector) -> None:
        """Take a detector that takes images of any size."""
        self._detector = detector
        width, height = (-(-side // detector.stride) * detector.stride for side in _CANVAS_PX)
        self._canvas_px = (width, height)

    def find_all(self, images: list[BgrImage]) -> list[list[Detection]]:
        """Return the plates in each image, one by one: a processor gains nothing from batches."""
        return list(map(self.find, images))

    def find(self, image: BgrImage) -> list[Detection]:
        """Return the plates in the image, best first, in pixels of the image."""
        threshold = self._detector.threshold
        candidates = self._detector.search(image, min(COARSE_SCORE, threshold))
        scale = self._detector.scale(image)
        unclear = [found for found in candidates if _zoom(found, scale) is not None][:_MOST_LOOKS]
        fine = [self._look(image, c, scale) if c in unclear else c for c in candidates]
        return best_of_overlapping(
            [found for found in fine if found.score >= threshold], self._detector.iou_threshold
        )

    def _look(self, image: BgrImage, candidate: Detection, scale: float) -> Detection:
        zoom = _zoom(candidate, scale) or scale
        left, top, right, bottom = _window(candidate, image, self._canvas_px, zoom)
        part = image[top:bottom, left:right]
        closer = self._detector.search(part, self._detector.threshold, canvas_px=self._canvas_px)
        moved = [_moved(found, left, top) for found in closer]
        same = [f for f in moved if iou(f.box, candidate.box) >= _SAME_PLATE_IOU]
        return max(same, key=lambda found: found.score, default=candidate)


def _zoom(found: Detection, scale: float) -> float | None:
    """Return the scale of a second look, None where it would show nothing new."""
    zoom = min(_PLATE_PX / found.width_px, _LARGEST_SCALE)
    width = found.width_px * scale
    is_clear = any(width > px and found.score >= score for px, score in _CLEAR)
    return None if is_clear or zoom < _LEAST_GAIN * scale else zoom


def _window(
    found: Detection, image: BgrImage, canvas_px: tuple[int, int], zoom: float
) -> tuple[int, int, int, int]:
    """Return left, top, right, bottom of the part to look at, inside the image, in its pixels."""
    middles = ((found.left + found.right) / 2, (found.top + found.bottom) / 2)
    height, width = image.shape[:2]
    spans = []
    for middle, side, canvas in zip(middles, (width, height), canvas_px, strict=True):
        length = min(side, round(canvas / zoom))
        start = int(np.clip(middle - length / 2, 0, side - length))
        spans.append((start, start + length))
    (left, right), (top, bottom) = spans
    return left, top, right, bottom


def _moved(found: Detection, x: int, y: int) -> Detection:
    return replace(
        found,
        left=found.left + x,
        right=found.right + x,
        top=found.top + y,
        bottom=found.bottom + y,
    )
