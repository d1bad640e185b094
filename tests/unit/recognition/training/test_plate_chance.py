from pathlib import Path

import cv2
import numpy as np
import pytest

from recognition.boxes import iou
from recognition.plate_chance import Signs, chance_of_plate
from recognition.training.plate_chance import LEAST_PX, counted, fitted, pictures, views

PLATE = Signs(score=0.8, share=0.1, text="AB123CD", least_sure=0.9, of_no_country=False)


def test_the_chance_is_what_the_rows_say() -> None:
    unsure, word = PLATE._replace(score=0.4), PLATE._replace(score=0.4, text="PARKING")
    rows = counted([[PLATE] * 900, [unsure] * 30, [word] * 20], True, 1.0)
    rows += counted([[unsure] * 10, [word] * 40, []], False, 1.0)
    card = fitted(rows)
    assert chance_of_plate(unsure, card) == pytest.approx(0.75, abs=0.06)
    assert chance_of_plate(word, card) == pytest.approx(1 / 3, abs=0.06)
    assert chance_of_plate(PLATE, card) > 0.97


def test_what_counts_less_takes_less_of_the_chance() -> None:
    plates, others = counted([[PLATE] * 100], True, 1.0), [[PLATE] * 100]
    halved = fitted(plates + counted(others, False, 0.5))
    assert chance_of_plate(PLATE, halved) == pytest.approx(2 / 3, abs=0.03)


def test_views_show_the_plate_where_they_say() -> None:
    image = np.zeros((200, 300, 3), np.uint8)
    image[80:120, 100:200] = 255
    seen = list(views(image, ((100.0, 80.0, 200.0, 120.0),), np.random.default_rng(5)))
    assert len(seen) == 4
    for view in seen:
        rows, columns = np.nonzero(view.image[..., 0] > 127)
        left, top = float(columns.min()), float(rows.min())
        right, bottom = float(columns.max() + 1), float(rows.max() + 1)
        (plate,) = view.plates
        assert iou((left, top, right, bottom), plate) > 0.9


def test_pictures_that_look_alike_come_once_and_small_or_broken_ones_never(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for name, side in (("a/one.png", 120), ("b/two.jpg", 120), ("b/small.png", LEAST_PX - 1)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        blocks = rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)
        cv2.imwrite(str(tmp_path / name), cv2.resize(blocks, (side, side), interpolation=0))
    (tmp_path / "b" / "again.png").write_bytes((tmp_path / "a" / "one.png").read_bytes())
    (tmp_path / "b" / "broken.png").write_bytes(b"no picture")
    (tmp_path / "b" / "notes.txt").write_text("no picture either")
    assert [picture.shape for picture in pictures(tmp_path)] == [(120, 120, 3)] * 2
