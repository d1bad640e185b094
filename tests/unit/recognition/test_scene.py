import numpy as np
import pytest

from recognition.scene import COLUMNS, ROWS, scene_view
from tests.odd_images import STRIP_SIZES, TINY_SIZES, noise

CELLS = COLUMNS * ROWS


@pytest.mark.parametrize("size", [*TINY_SIZES, *STRIP_SIZES, (640, 480), (10_000, 4_000)])
def test_a_view_of_any_size_has_all_cells(size: tuple[int, int]) -> None:
    assert len(scene_view(noise(*size))) == 2 * CELLS


def test_detail_is_the_difference_between_neighbours() -> None:
    image = np.zeros((90, 160, 3), np.uint8)
    image[:, 80::2] = 200
    brightness, detail = np.frombuffer(scene_view(image), np.uint8).reshape(2, ROWS, COLUMNS)
    assert (brightness[:, :8] == 0).all()
    assert (detail[:, :7] == 0).all()
    assert (detail[:, 8:-1] == 200).all()


def test_an_image_of_one_column_has_no_detail() -> None:
    view = scene_view(np.full((50, 1, 3), 90, np.uint8))
    assert view == bytes([90]) * CELLS + bytes(CELLS)
