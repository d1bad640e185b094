"""`python -m tools.synthetic.sheet --out sheet.png`: a contact sheet of rendered plates."""

from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer

from tools.synthetic.layouts import LAYOUTS
from tools.synthetic.plates import Picture, Plate, random_plate

_CELL_WIDTH_PX, _CELL_HEIGHT_PX = 420, 220
_WALL = (86, 84, 80)


def contact_sheet(seed: int, per_layout: int = 4) -> Picture:
    """Return a picture with `per_layout` random plates of every layout, one layout a row."""
    rng = np.random.default_rng(seed)
    rows = [
        np.hstack([_cell(random_plate(rng, layout)) for _ in range(per_layout)])
        for layout in LAYOUTS
    ]
    return np.vstack(rows)


def _cell(plate: Plate) -> Picture:
    cell = np.empty((_CELL_HEIGHT_PX, _CELL_WIDTH_PX, 3), dtype=np.float32)
    cell[:] = _WALL
    height, width = plate.alpha.shape
    shrink = min((_CELL_WIDTH_PX - 20) / width, (_CELL_HEIGHT_PX - 20) / height)
    size = (round(width * shrink), round(height * shrink))
    image = cv2.resize(plate.image, size, interpolation=cv2.INTER_AREA).astype(np.float32)
    alpha = cv2.resize(plate.alpha, size, interpolation=cv2.INTER_AREA)[..., None]
    top, left = (_CELL_HEIGHT_PX - size[1]) // 2, (_CELL_WIDTH_PX - size[0]) // 2
    target = cell[top : top + size[1], left : left + size[0]]
    target += alpha * (image - target)
    return np.clip(cell, 0, 255).astype(np.uint8)


def main(
    out: Annotated[Path, typer.Option(help="Where the PNG goes.")],
    seed: Annotated[int, typer.Option(help="The same seed draws the same sheet.")] = 7,
    per_layout: Annotated[int, typer.Option(help="Plates a layout.")] = 4,
) -> None:
    """Draw a contact sheet of plates of every layout."""
    if not cv2.imwrite(str(out), contact_sheet(seed, per_layout)):
        raise typer.BadParameter(f"cannot write {out}")
    print(out)


if __name__ == "__main__":
    typer.run(main)
