from pathlib import Path

import cv2
import numpy as np
import pytest

from tools.training.wrong_sheet import (
    COLUMNS,
    ROWS,
    TILE_PX,
    ReadCrop,
    exact_share,
    write_wrong,
)

RED, GREEN = np.full((20, 60, 3), (200, 0, 0), np.uint8), np.full((9, 9, 3), (0, 200, 0), np.uint8)


def test_the_share_counts_whole_texts() -> None:
    assert exact_share([ReadCrop(RED, "AB1", "AB1"), ReadCrop(RED, "AB2", "AB")]) == 0.5


def test_only_what_is_wrong_is_shown_and_no_more_than_fits(tmp_path: Path) -> None:
    wrong = [ReadCrop(RED, "AB1", "") for _ in range(COLUMNS * ROWS + 3)]
    write_wrong([ReadCrop(GREEN, "X", "X"), *wrong], tmp_path / "new" / "sheet.png")
    sheet = cv2.imread(str(tmp_path / "new" / "sheet.png"))
    assert sheet is not None
    is_red = (sheet == (0, 0, 200)).all(axis=-1)
    assert is_red.sum() == COLUMNS * ROWS * TILE_PX[0] * TILE_PX[1]
    assert not (sheet == (0, 200, 0)).all(axis=-1).any()


def test_a_sheet_without_anything_wrong_is_blank(tmp_path: Path) -> None:
    write_wrong([ReadCrop(GREEN, "X", "X")], tmp_path / "sheet.png")
    sheet = cv2.imread(str(tmp_path / "sheet.png"))
    assert sheet is not None and (sheet == 255).all()


def test_a_sheet_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sheet.png").mkdir()
    with pytest.raises(OSError, match="cannot write"):
        write_wrong([ReadCrop(RED, "A", "B")], tmp_path / "sheet.png")
