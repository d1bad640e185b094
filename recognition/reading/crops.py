"""Cuts plates out of images along the detector's box, or upright if a plate is tilted."""

import cv2
import numpy as np
import numpy.typing as npt

from recognition.types import BgrImage, Box, Detection, grown

MAX_TURNED_PX = 512
"""Maximum side of a rotated crop in pixels. Readers need no larger crops, and warping is slow."""

ROWS_OVERLAP = 0.04
"""Overlap of the halves, as a fraction of the crop's height. Rows rarely meet in the middle."""

_MIN_WIDTH_SHARE, _MIN_HEIGHT_SHARE = 0.5, 0.18
"""Minimum width and height of a rotated plate, as fractions of the box's width."""

_TURNING_MARGIN = 0.1


def cut(image: BgrImage, box: Box) -> BgrImage:
    """Return the part of the image in the box, at least 1 px, sharing the image's memory."""
    left, top, right, bottom = _edges(image, box)
    return image[top:bottom, left:right]


def cut_plate(image: BgrImage, found: Detection, margin_x: float, margin_y: float) -> BgrImage:
    """Return a plate's part of the image. Margins are fractions of the box's size."""
    height, width = image.shape[:2]
    return cut(image, grown(found.box, margin_x, margin_y, width, height))


def cut_turned(
    image: BgrImage, found: Detection, margin_x: float, margin_y: float, degrees: float
) -> BgrImage:
    """Return the upright crop of a plate tilted by ``degrees`` (clockwise, -40 to 40).

    The plate's size is calculated from its axis-aligned box. Outside the image, the edge pixels
    are repeated. A crop larger than :data:`MAX_TURNED_PX` is scaled down.
    """
    margin = margin_x + margin_y + _TURNING_MARGIN
    height, width = image.shape[:2]
    left, top, right, bottom = _edges(image, grown(found.box, margin, margin, width, height))
    part = image[top:bottom, left:right]
    scale = min(1.0, MAX_TURNED_PX / max(part.shape[:2]))
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
    """Return a crop of two rows as one line, with the lower half to the right of the upper half.

    The crop is H×W×3 in any colour order. The line is about half as high and twice as wide.
    """
    height = len(crop)
    half = min(height, -(-height // 2) + round(height * ROWS_OVERLAP))
    return np.hstack([crop[:half], crop[height - half :]])


def _edges(image: BgrImage, box: Box) -> tuple[int, int, int, int]:
    """Return the box's left, top, right and bottom in whole pixels, at least 1 px in size."""
    height, width = image.shape[:2]
    left = min(max(0, round(box[0])), width - 1)
    top = min(max(0, round(box[1])), height - 1)
    right = max(left + 1, min(width, round(box[2])))
    bottom = max(top + 1, min(height, round(box[3])))
    return left, top, right, bottom


def _turned_size(found: Detection, angle: float) -> tuple[float, float]:
    """Return the width and height, in pixels, of the rectangle that has this box when rotated.

    ``angle`` is in radians, less than 45 degrees.
    """
    width, height = found.width_px, found.height_px
    cos, sin = np.cos(angle), np.sin(angle)
    own_width = (width * cos - height * sin) / (cos**2 - sin**2)
    own_height = (height * cos - width * sin) / (cos**2 - sin**2)
    min_height = _MIN_HEIGHT_SHARE * width
    return (
        float(np.clip(own_width, _MIN_WIDTH_SHARE * width, width)),
        float(np.clip(own_height, min_height, max(height, min_height))),
    )
