"""Cuts a plate out of its image: along the detector's box, or turned upright."""

import cv2
import numpy as np
import numpy.typing as npt

from recognition.types import BgrImage, Detection

LARGEST_TURNED_PX = 512
"""Side of what a turned crop is made of: readers take no more, and warping costs by the pixel."""

ROWS_OVERLAP = 0.04
"""Of a crop's height, how far each half reaches beyond the middle: rows seldom part just there."""

_LEAST_WIDTH, _LEAST_HEIGHT = 0.5, 0.18
"""Of a turned plate, as shares of its box's width: less is no plate, so it hangs by less."""

_ROOM = 0.1


def cut_plate(image: BgrImage, found: Detection, margin_x: float, margin_y: float) -> BgrImage:
    """Return the part of the image in the box grown by shares of its own size, at least 1 px."""
    left, top, right, bottom = _edges(image, found, margin_x, margin_y)
    return image[top:bottom, left:right]


def cut_turned(
    image: BgrImage, found: Detection, margin_x: float, margin_y: float, degrees: float
) -> BgrImage:
    """Return a plate that hangs by some degrees (clockwise, -40 to 40) upright, with margins.

    Its size follows from that of the level box around it. Beyond the image its edge is repeated.
    A plate of more than ``LARGEST_TURNED_PX`` comes smaller.
    """
    grown = margin_x + margin_y + _ROOM
    left, top, right, bottom = _edges(image, found, grown, grown)
    part = image[top:bottom, left:right]
    scale = min(1.0, LARGEST_TURNED_PX / max(part.shape[:2]))
    if scale < 1:
        size = max(1, round(part.shape[1] * scale)), max(1, round(part.shape[0] * scale))
        part = np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), np.uint8)
    angle = float(np.deg2rad(degrees))
    width, height = _turned_size(found, abs(angle))
    width, height = width * (1 + 2 * margin_x) * scale, height * (1 + 2 * margin_y) * scale
    size = max(1, round(width)), max(1, round(height))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    scaled = turn @ np.diag([width / size[0], height / size[1]])
    middle = np.array([found.left + found.right, found.top + found.bottom]) / 2 - [left, top]
    start = middle * scale - scaled @ (np.array(size) / 2)
    upright = cv2.warpAffine(
        part,
        np.column_stack([scaled, start]),
        size,
        flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.asarray(upright, np.uint8)


def joined_rows(crop: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return a crop of two rows as one line: its lower half to the right of its upper one."""
    height = len(crop)
    half = min(height, -(-height // 2) + round(height * ROWS_OVERLAP))
    return np.hstack([crop[:half], crop[height - half :]])


def _edges(
    image: BgrImage, found: Detection, margin_x: float, margin_y: float
) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of the grown box inside the image, at least 1 px apart."""
    height, width = image.shape[:2]
    grow_x, grow_y = margin_x * found.width_px, margin_y * found.height_px
    left = min(max(0, round(found.left - grow_x)), width - 1)
    top = min(max(0, round(found.top - grow_y)), height - 1)
    right = max(left + 1, min(width, round(found.right + grow_x)))
    bottom = max(top + 1, min(height, round(found.bottom + grow_y)))
    return left, top, right, bottom


def _turned_size(found: Detection, angle: float) -> tuple[float, float]:
    """Width and height of the rectangle that has this level box when it is turned, in pixels.

    ``angle`` is less than 45 degrees, in radians.
    """
    width, height = found.width_px, found.height_px
    cos, sin = np.cos(angle), np.sin(angle)
    own_width = (width * cos - height * sin) / (cos**2 - sin**2)
    own_height = (height * cos - width * sin) / (cos**2 - sin**2)
    return (
        float(np.clip(own_width, _LEAST_WIDTH * width, width)),
        float(np.clip(own_height, _LEAST_HEIGHT * width, max(height, _LEAST_HEIGHT * width))),
    )
