"""Puts pictures side by side into one."""

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from tools.evaluation.photos import Image, as_image

GAP_PX = 6


def tiled(pictures: Sequence[Image], columns: int, rows: int) -> Image:
    """Return the first pictures in rows, on white; they are of one size, which is the first's."""
    height, width = pictures[0].shape[:2] if pictures else (1, 1)
    sheet = np.full((rows * (height + GAP_PX), columns * (width + GAP_PX), 3), 255, np.uint8)
    for place, picture in enumerate(pictures[: columns * rows]):
        top, left = (place // columns) * (height + GAP_PX), (place % columns) * (width + GAP_PX)
        sheet[top : top + height, left : left + width] = picture
    return as_image(sheet)


def write_sheet(sheet: Image, out: Path) -> None:
    """Write an RGB picture; its folder is made.

    Raises:
        OSError: it cannot be written.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    if not cv2.imwrite(str(out), np.ascontiguousarray(sheet[..., ::-1])):
        raise OSError(f"cannot write {out}")
