"""The contact sheet shows every layout."""

from pathlib import Path

import cv2
import numpy as np

from tools.synthetic.layouts import LAYOUTS
from tools.synthetic.sheet import contact_sheet, main


def test_sheet_has_a_row_for_each_layout() -> None:
    sheet = contact_sheet(seed=1, per_layout=1)

    assert sheet.shape == (220 * len(LAYOUTS), 420, 3)
    rows = sheet.reshape(len(LAYOUTS), 220, 420, 3)
    assert all(row.std() > 10 for row in rows)


def test_command_writes_the_sheet(tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"

    main(out, seed=1, per_layout=1)

    read = cv2.imread(str(out))
    assert read is not None
    assert np.array_equal(read, contact_sheet(1, 1))
