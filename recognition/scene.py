"""A frame as a few numbers: enough to tell whether a place in it looks as it did."""

import cv2
import numpy as np

from recognition.types import BgrImage

COLUMNS, ROWS = 16, 9
"""Cells of a view."""

_SAMPLED_PX = 160


def scene_view(image: BgrImage) -> bytes:
    """Return the view of a frame: brightness (0..255) of each cell, row by row, then its detail.

    ``image`` is height x width x 3, uint8, blue first. Detail is the mean difference between
    neighbouring pixels, of those that are sampled, in brightness (0..255).
    """
    step = max(1, max(image.shape[:2]) // _SAMPLED_PX)
    grey = cv2.cvtColor(np.ascontiguousarray(image[::step, ::step]), cv2.COLOR_BGR2GRAY)
    # The last column is compared with itself; a narrow image has no other.
    across = cv2.absdiff(grey, np.hstack([grey[:, 1:], grey[:, -1:]]))
    brightness, detail = (
        cv2.resize(each, (COLUMNS, ROWS), interpolation=cv2.INTER_AREA) for each in (grey, across)
    )
    return brightness.tobytes() + detail.tobytes()
