"""Reduces a frame to a few numbers that show whether a part of the scene has changed."""

import cv2
import numpy as np

from recognition.types import BgrImage

COLUMNS, ROWS = 16, 9
"""Number of columns and rows of a view."""

_SAMPLED_PX = 160


def scene_view(image: BgrImage) -> bytes:
    """Return the view of a frame: the brightness (0 to 255) of each cell by row, then the details.

    ``image`` is height x width x 3, uint8, in BGR order. A cell's detail is the mean difference in
    brightness (0 to 255) between neighbouring sampled pixels.
    """
    step = max(1, max(image.shape[:2]) // _SAMPLED_PX)
    grey = cv2.cvtColor(np.ascontiguousarray(image[::step, ::step]), cv2.COLOR_BGR2GRAY)
    # The last column is compared with itself, because an image can have only one column.
    across = cv2.absdiff(grey, np.hstack([grey[:, 1:], grey[:, -1:]]))
    brightness, detail = (
        cv2.resize(each, (COLUMNS, ROWS), interpolation=cv2.INTER_AREA) for each in (grey, across)
    )
    return brightness.tobytes() + detail.tobytes()
