"""Where boxes lie to each other. A box is left, top, right, bottom in pixels of one image."""

import numpy as np
import numpy.typing as npt

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

Boxes = npt.NDArray[np.float64]
"""N×4, a box a row."""


def ious(one: Box, boxes: Boxes) -> npt.NDArray[np.float64]:
    """Return the intersection over union (0..1) of a box with each of ``boxes``, N values."""
    left, top, right, bottom = one
    width = np.minimum(boxes[:, 2], right) - np.maximum(boxes[:, 0], left)
    height = np.minimum(boxes[:, 3], bottom) - np.maximum(boxes[:, 1], top)
    both = width.clip(0) * height.clip(0)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    union = areas + (right - left) * (bottom - top) - both
    return np.asarray(np.divide(both, union, out=np.zeros_like(both), where=union > 0))


def iou(one: Box, other: Box) -> float:
    """Return the intersection over union of two boxes, 0..1."""
    return float(ious(one, np.array([other], np.float64))[0])


def part_shared(one: Box, other: Box) -> float:
    """Return the area that two boxes share, as a part of the smaller one's, 0..1."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    smaller = min((b[2] - b[0]) * (b[3] - b[1]) for b in (one, other))
    return max(0.0, width) * max(0.0, height) / smaller if smaller > 0 else 0.0


def grown(box: Box, share_x: float, share_y: float, width_px: int, height_px: int) -> Box:
    """Return the box grown on each side by shares of its own size, within an image of this size."""
    left, top, right, bottom = box
    by_x, by_y = share_x * (right - left), share_y * (bottom - top)
    return (
        max(0.0, left - by_x),
        max(0.0, top - by_y),
        min(float(width_px), right + by_x),
        min(float(height_px), bottom + by_y),
    )


def meet(one: Box, other: Box) -> bool:
    """Tell whether two boxes share any area."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
