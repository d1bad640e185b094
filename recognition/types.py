"""Defines the images, boxes, detections and texts that the engine's modules exchange."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BgrImage = npt.NDArray[np.uint8]
"""An image as in OpenCV: height x width x 3, uint8, in BGR order."""

FloatArray = npt.NDArray[np.floating]

Slots = npt.NDArray[np.floating]
"""A reader's output for a plate: slots x alphabet, the probability (0 to 1) of each character in
each slot. One character is the padding, which is the most likely character in empty slots."""

CtcLogProbs = npt.NDArray[np.floating]
"""A CTC reader's output for a plate: steps x classes, logarithms of probabilities. Class 0 is the
blank, and class i + 1 is character i of the alphabet."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels of one image."""

Boxes = npt.NDArray[np.float64]
"""N×4, one box per row."""


@dataclass(frozen=True)
class Detection:
    """A plate found in an image: edges in image pixels, and the detector's score (0 to 1).

    ``kind`` is the name of the plate's class in the detector's card.
    """

    left: float
    top: float
    right: float
    bottom: float
    score: float
    kind: str

    @property
    def box(self) -> Box:
        """Left, top, right and bottom."""
        return self.left, self.top, self.right, self.bottom

    @property
    def width_px(self) -> float:
        """Width of the box in pixels."""
        return self.right - self.left

    @property
    def height_px(self) -> float:
        """Height of the box in pixels."""
        return self.bottom - self.top


@dataclass(frozen=True)
class Character:
    """A character of a plate, as the most likely options and their probabilities, best first."""

    options: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class CropText:
    """The text of a plate. ``region`` is None if the model names no region.

    ``region_confidence`` is the region's probability (0 to 1), or None if the format of the text
    determined the region. ``fused``: the text was fused with the CTC reader's text, so that the
    probabilities have a different calibration. ``degrees`` is the plate's clockwise tilt, if the
    crop had to be rotated upright.
    """

    characters: tuple[Character, ...]
    region: str | None
    fused: bool = False
    degrees: float = 0.0
    region_confidence: float | None = None

    @property
    def text(self) -> str:
        """The most likely character at each position."""
        return "".join(character.options[0][0] for character in self.characters)

    @property
    def mean_probability(self) -> float:
        """Mean probability (0 to 1) of the characters, or 0 without characters."""
        best = [character.options[0][1] for character in self.characters]
        return sum(best) / len(best) if best else 0.0

    @property
    def min_probability(self) -> float:
        """Probability (0 to 1) of the least certain character, or 0 without characters."""
        return min((character.options[0][1] for character in self.characters), default=0.0)


def ious(one: Box, boxes: Boxes) -> npt.NDArray[np.float64]:
    """Return N values: the intersection over union (0 to 1) of a box with each of ``boxes``."""
    left, top, right, bottom = one
    width = np.minimum(boxes[:, 2], right) - np.maximum(boxes[:, 0], left)
    height = np.minimum(boxes[:, 3], bottom) - np.maximum(boxes[:, 1], top)
    both = width.clip(0) * height.clip(0)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    union = areas + (right - left) * (bottom - top) - both
    return np.asarray(np.divide(both, union, out=np.zeros_like(both), where=union > 0))


def iou(one: Box, other: Box) -> float:
    """Return the intersection over union (0 to 1) of two boxes."""
    return float(ious(one, np.array([other], np.float64))[0])


def overlap_coefficient(one: Box, other: Box) -> float:
    """Return the area that two boxes share, as a fraction (0 to 1) of the smaller box's area."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    smaller = min((b[2] - b[0]) * (b[3] - b[1]) for b in (one, other))
    return max(0.0, width) * max(0.0, height) / smaller if smaller > 0 else 0.0


def grown(box: Box, share_x: float, share_y: float, width_px: int, height_px: int) -> Box:
    """Return the box grown on each side by fractions of its size, clipped to the image."""
    left, top, right, bottom = box
    by_x, by_y = share_x * (right - left), share_y * (bottom - top)
    return (
        max(0.0, left - by_x),
        max(0.0, top - by_y),
        min(float(width_px), right + by_x),
        min(float(height_px), bottom + by_y),
    )
