from pathlib import Path

import cv2
import numpy as np
import pytest

from recognition.images import decode_image
from tools.training.detector_data import steep, write_others

PLATE = (200.0, 150.0, 360.0, 190.0)


@pytest.mark.parametrize("seed", range(6))
def test_a_plate_seen_steeply_fills_its_new_box(seed: int) -> None:
    photo = np.full((400, 640, 3), 60, np.uint8)
    photo[150:190, 200:360] = 255
    slanted, (box,) = steep(photo, (PLATE,), np.random.default_rng(seed))
    rows, columns = np.nonzero(slanted[..., 0] > 200)
    seen = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    assert seen == pytest.approx(box, abs=2)
    assert slanted.shape[1] < 640 * 0.76


def test_views_differ_and_a_seed_gives_the_same() -> None:
    photo = np.full((400, 640, 3), 60, np.uint8)
    first = [steep(photo, (PLATE,), np.random.default_rng(seed))[1] for seed in range(8)]
    again = [steep(photo, (PLATE,), np.random.default_rng(seed))[1] for seed in range(8)]
    assert first == again
    assert len(set(first)) == 8


def test_images_without_a_plate_are_learnt_from_with_no_box(tmp_path: Path) -> None:
    others, out = tmp_path / "others", tmp_path / "data"
    for folder in (others, out / "images" / "train", out / "labels" / "train"):
        folder.mkdir(parents=True)
    cv2.imwrite(str(others / "a.jpg"), np.full((90, 160, 3), 200, np.uint8))
    (others / "notes.txt").write_text("no image")
    write_others(others, out)
    (image,), (label,) = (list((out / part / "train").iterdir()) for part in ("images", "labels"))
    assert decode_image(image.read_bytes()).shape == (90, 160, 3)
    assert label.stem == image.stem
    assert label.read_text() == ""
