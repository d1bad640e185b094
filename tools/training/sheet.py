"""Draws a sheet of photographed plates and of rendered ones, as a reader in training gets them.

``python -m tools.training.sheet --photos DIR --out sheet.jpg``: rows of photographed plates
(changed as little as the detector's boxes are off) and of rendered ones (changed as all crops that
are learnt from are) take turns. Its photos are yours: the sheet is for you alone.
"""

import argparse
from pathlib import Path

import cv2
import numpy as np

from tools.evaluation.photos import Image, as_image
from tools.training.reader_data import (
    MARGIN_X,
    MARGIN_Y,
    changed_crop,
    load_samples,
    plain_crops,
)
from tools.training.rendered import render_samples
from tools.training.tiles import tiled, write_sheet

COLUMNS, ROWS = 8, 8
TILE_PX = (150, 76)
LONGEST_TEXT = 10
BOX_JITTER = 0.03


def sheet(photographed: list[Image], rendered: list[Image]) -> Image:
    """Rows of both in turns, photographed plates first; crops are brought to one size."""
    blank = np.full((TILE_PX[1], TILE_PX[0], 3), 255, np.uint8)
    tiles = []
    for first in range(0, COLUMNS * ROWS // 2, COLUMNS):
        for crops in (photographed, rendered):
            row = [as_image(cv2.resize(crop, TILE_PX)) for crop in crops[first : first + COLUMNS]]
            tiles += row + [blank] * (COLUMNS - len(row))
    return tiled(tiles, COLUMNS, ROWS)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    rng, count = np.random.default_rng(args.seed), COLUMNS * ROWS // 2
    samples = load_samples(args.photos, "train", LONGEST_TEXT, lone=False)
    chosen = rng.choice(len(samples), min(count, len(samples)), replace=False)
    margins = [(MARGIN_X[1], MARGIN_Y[1])]
    photographed = [plain_crops(samples[i], margins, BOX_JITTER, rng)[0] for i in chosen]
    drawn = render_samples(1.0, 2 * count, LONGEST_TEXT, args.seed).samples[:count]
    rendered = [changed_crop(sample, TILE_PX, rng) for sample in drawn]
    write_sheet(sheet(photographed, rendered), args.out)
    print(args.out)


if __name__ == "__main__":
    main()
