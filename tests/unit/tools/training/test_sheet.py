import numpy as np

from tools.training.sheet import COLUMNS, ROWS, TILE_PX, sheet
from tools.training.tiles import GAP_PX


def test_rows_of_photographed_and_rendered_plates_take_turns() -> None:
    shades = {"photographed": 40, "rendered": 200}
    crops = {name: [np.full((20, 50, 3), shade, np.uint8)] * 99 for name, shade in shades.items()}
    both = sheet(crops["photographed"], crops["rendered"])
    height, width = TILE_PX[1] + GAP_PX, TILE_PX[0] + GAP_PX
    assert both.shape == (ROWS * height, COLUMNS * width, 3)
    assert both[height // 2 :: height, width // 2, 0].tolist() == [40, 200] * (ROWS // 2)


def test_few_photos_leave_places_blank() -> None:
    few = [np.zeros((20, 50, 3), np.uint8)] * 3
    both = sheet(few, few)
    assert (both[2 * (TILE_PX[1] + GAP_PX) :] == 255).all()
