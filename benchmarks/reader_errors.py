"""Draws a sheet of rendered plates that the reader gets wrong, as other cameras would show them.

    python -m benchmarks.reader_errors docs/images/reader-errors.jpg [--plates 500]

No photo is in it. It prints the share that was read right: these plates are harder than photos.
"""

import argparse
from pathlib import Path

import cv2
import numpy as np

from recognition.evaluation.photos import Image
from recognition.reader import Reader
from recognition.settings import RecognizerSettings
from recognition.training.reader_data import changed_crop
from recognition.training.rendered import mounted
from synthetic.plates import random_plate

SHEET = (8, 4)
"""Columns and rows."""

TILE_PX = (160, 80)
CAPTION_PX = 34
SEED = 11


def tile(crop: Image, wanted: str, got: str) -> Image:
    """A crop (RGB) with what it shows and what was read below it."""
    picture = np.full((TILE_PX[1] + CAPTION_PX, TILE_PX[0] + 8, 3), 255, np.uint8)
    picture[: TILE_PX[1], : TILE_PX[0]] = cv2.resize(crop, TILE_PX, interpolation=cv2.INTER_LINEAR)
    for row, (text, colour) in enumerate(((wanted, (0, 90, 0)), (got or "-", (170, 0, 0)))):
        place = (2, TILE_PX[1] + 14 + 15 * row)
        cv2.putText(picture, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.45, colour, 1, cv2.LINE_AA)
    return picture


def wrong_tiles(count: int) -> tuple[list[Image], int]:
    """Tiles of what is read wrong, and how many were read right."""
    settings = RecognizerSettings.model_validate({})
    reader = Reader.load(settings)
    card = reader.card
    size = (card.input.width, card.input.height)
    rng = np.random.default_rng(SEED)
    tiles: list[Image] = []
    for _ in range(count):
        sample = mounted(random_plate(rng), rng)  # numbers that belong to nobody
        crop = changed_crop(sample, size, rng)
        (read,) = reader.read([np.ascontiguousarray(crop[..., ::-1])])
        if read.text != sample.text:
            tiles.append(tile(crop, sample.text, read.text))
    return tiles, count - len(tiles)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--plates", type=int, default=500)
    arguments = parser.parse_args()
    tiles, right = wrong_tiles(arguments.plates)
    columns, rows = SHEET
    shown = tiles[: columns * rows]
    shown += [np.full_like(tiles[0], 255)] * (columns * rows - len(shown))
    sheet = np.vstack([np.hstack(shown[i : i + columns]) for i in range(0, len(shown), columns)])
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(arguments.out), np.ascontiguousarray(sheet[..., ::-1]))
    print(f"read right: {right} of {arguments.plates} rendered plates")


if __name__ == "__main__":
    main()
