"""Texts read of crops: the share that is right, and a sheet of those that are not."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from tools.evaluation.photos import Image, as_image
from tools.training.tiles import tiled, write_sheet

COLUMNS, ROWS = 8, 4
TILE_PX, CAPTION_PX = (160, 80), 34
WANTED_COLOUR, GOT_COLOUR = (0, 90, 0), (170, 0, 0)


class ReadCrop(NamedTuple):
    """A crop, what is written on it and what was read."""

    crop: Image
    wanted: str
    got: str


def exact_share(readings: Sequence[ReadCrop]) -> float:
    """The share of which the whole text was read right, 0-1; 0 where there are none."""
    return sum(one.got == one.wanted for one in readings) / max(1, len(readings))


def write_wrong(readings: Iterable[ReadCrop], out: Path) -> None:
    """Write a picture of the first wrong ones, as many as there is room for.

    Below each stands what is on it, then what was read.
    """
    wrong = (_tile(one) for one in readings if one.got != one.wanted)
    write_sheet(tiled(list(islice(wrong, COLUMNS * ROWS)), COLUMNS, ROWS), out)


def _tile(one: ReadCrop) -> Image:
    tile = np.full((TILE_PX[1] + CAPTION_PX, TILE_PX[0], 3), 255, np.uint8)
    tile[: TILE_PX[1]] = cv2.resize(one.crop, TILE_PX)
    captions = ((one.wanted, WANTED_COLOUR), (one.got or "-", GOT_COLOUR))
    for row, (text, colour) in enumerate(captions):
        place = (2, TILE_PX[1] + 14 + 15 * row)
        cv2.putText(tile, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.45, colour, 1, cv2.LINE_AA)
    return as_image(tile)
