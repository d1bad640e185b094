"""Draws the letters of plates as ink masks, with free fonts or with our own strokes."""

from enum import Enum
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from tools.synthetic.strokes import box_letter, slashed_letter, stroke_letter

Mask = NDArray[np.float32]

PIXELS_PER_MM = 2.0
"""Resolution of rendered plates. A 520 mm plate is 1040 px wide."""

_FONTS = Path(__file__).parent / "fonts"
# Font size, large enough that a 90 mm letter at 4 px/mm is never enlarged.
_DRAWING_SIZE_PX = 480


class Face(Enum):
    """A typeface for plates: a font file or our own strokes."""

    DIN = "OSP-DIN.ttf"
    ROAD_NARROW = "RG2014B.ttf"
    ROAD = "RG2014C.ttf"
    ROAD_WIDE = "RG2014D.ttf"
    EVEN_STROKE = "strokes"
    BOX_STROKE = "strokes with square corners"
    SLASHED_STROKE = "strokes with slashed zeros"


_DRAWN = {
    Face.EVEN_STROKE: stroke_letter,
    Face.BOX_STROKE: box_letter,
    Face.SLASHED_STROKE: slashed_letter,
}


@lru_cache(maxsize=512)
def glyph_mask(face: Face, character: str) -> Mask:
    """Return the ink of one character, 0 (paper) to 1 (ink).

    The mask is cropped to the ink. Letters drawn with strokes have the full width of the cell.
    """
    if face in _DRAWN:
        return _DRAWN[face](character)
    font = ImageFont.truetype(str(_FONTS / face.value), _DRAWING_SIZE_PX)
    left, top, right, bottom = (int(edge) for edge in font.getbbox(character))
    canvas = Image.new("L", (right - left + 8, bottom - top + 8), 0)
    ImageDraw.Draw(canvas).text((4 - left, 4 - top), character, font=font, fill=255)
    ink = np.asarray(canvas, dtype=np.float32) / 255
    rows, columns = np.nonzero(ink > 0.5)
    return np.ascontiguousarray(ink[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1])


def natural_width(face: Face, character: str, height: float) -> float:
    """Return the width of a character with this `height`, in the same unit as `height`."""
    mask = glyph_mask(face, character)
    return height * float(mask.shape[1]) / float(mask.shape[0])


def stamp(canvas: Mask, face: Face, character: str, box: tuple[float, float, float, float]) -> None:
    """Draw a character, stretched to `box` (left, top, width, height in px). Modifies `canvas`.

    The position is accurate to a fraction of a pixel, so that letters do not snap to the grid.
    """
    mask = glyph_mask(face, character)
    left, top, width, height = box
    small = cv2.resize(
        mask, (max(1, round(width)), max(1, round(height))), interpolation=cv2.INTER_AREA
    )
    move = np.array([[1, 0, left % 1], [0, 1, top % 1]], dtype=np.float32)
    x, y = int(left), int(top)
    shifted = cv2.warpAffine(small, move, (small.shape[1] + 1, small.shape[0] + 1))
    target = canvas[y : y + shifted.shape[0], x : x + shifted.shape[1]]
    np.maximum(target, shifted[: target.shape[0], : target.shape[1]], out=target)


def stamp_line(
    canvas: Mask, face: Face, text: str, centre_top: tuple[float, float], height: float
) -> None:
    """Draw a centred line of small print, such as a state's name. Modifies `canvas`."""
    spacing = height * 0.14
    widths = [height * 0.35 if c == " " else natural_width(face, c, height) for c in text]
    x = centre_top[0] - (sum(widths) + spacing * max(0, len(text) - 1)) / 2
    for character, width in zip(text, widths, strict=True):
        if character != " ":
            stamp(canvas, face, character, (x, centre_top[1], width, height))
        x += width + spacing
