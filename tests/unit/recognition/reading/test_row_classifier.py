"""The classifier distinguishes plates with two rows from plates with one row."""

from pathlib import Path

import cv2
import msgspec
import numpy as np
import pytest

from common.errors import MisconfiguredError
from recognition.reading.row_classifier import (
    FEATURE_COUNT,
    RowClassifier,
    RowClassifierCard,
    stroke_profile,
)
from recognition.settings import MODELS
from recognition.types import BgrImage, Detection
from tools.synthetic.layouts import BY_CODE
from tools.synthetic.plates import random_plate
from tools.training.plate_rows import LABELS, Seen, fitted

FILE = MODELS / "plate-rows.json"
ROWS = RowClassifier.load(FILE)
CARD = msgspec.json.decode(FILE.read_bytes(), type=RowClassifierCard)


def shown(layout: str, seed: int, width: int = 90) -> tuple[BgrImage, Detection]:
    """Return a grey image with a plate of a layout, and the plate's box."""
    plate = random_plate(np.random.default_rng(seed), BY_CODE[layout]).image
    height = round(width * plate.shape[0] / plate.shape[1])
    image = np.full((height + 40, width + 40, 3), 110, np.uint8)
    image[20:-20, 20:-20] = cv2.resize(plate, (width, height), interpolation=cv2.INTER_AREA)
    return image, Detection(20, 20, 20 + width, 20 + height, 0.9, "plate")


@pytest.mark.parametrize("width", [45, 90, 200])
@pytest.mark.parametrize(
    ("layout", "two"),
    [("de_two_row", True), ("gb_motorcycle", True), ("us_ca", False), ("de", False)],
)
def test_rows_of_drawn_plates(layout: str, two: bool, width: int) -> None:
    answers = [ROWS.has_two_rows(*shown(layout, seed, width)) for seed in range(10)]
    assert answers.count(two) >= 8


def test_flat_and_tiny_boxes_have_one_row() -> None:
    image, box = shown("de_two_row", 1, width=29)
    anything = msgspec.structs.replace(CARD, widest=99.0, least_width_px=0.0)
    assert RowClassifier(anything).has_two_rows(image, box)
    assert not RowClassifier(msgspec.structs.replace(anything, least_width_px=30.0)).has_two_rows(
        image, box
    )
    assert not RowClassifier(msgspec.structs.replace(anything, widest=1.0)).has_two_rows(image, box)


@pytest.mark.parametrize("degrees", [-20, 20])
def test_rows_of_plates_that_hang(degrees: float) -> None:
    found = 0
    for seed in range(10):
        image, box = shown("de_two_row", seed, width=110)
        wide = cv2.copyMakeBorder(image, 60, 60, 60, 60, cv2.BORDER_CONSTANT, value=(110,) * 3)
        middle = (wide.shape[1] / 2, wide.shape[0] / 2)
        turn = cv2.getRotationMatrix2D(middle, -degrees, 1)
        hung = cv2.warpAffine(wide, turn, wide.shape[1::-1], borderValue=(110,) * 3)
        angle = np.deg2rad(abs(degrees))
        half_width = (box.width_px * np.cos(angle) + box.height_px * np.sin(angle)) / 2
        half_height = (box.width_px * np.sin(angle) + box.height_px * np.cos(angle)) / 2
        around = Detection(
            middle[0] - half_width,
            middle[1] - half_height,
            middle[0] + half_width,
            middle[1] + half_height,
            0.9,
            "plate",
        )
        found += ROWS.has_two_rows(np.asarray(hung, np.uint8), around, degrees)
    assert found >= 8


@pytest.mark.parametrize("edges", [(0, 0, 40, 40), (120, 60, 170, 100), (-9, -9, 50, 30)])
def test_any_box_has_a_profile(edges: tuple[float, float, float, float]) -> None:
    profile = stroke_profile(np.zeros((60, 120, 3), np.uint8), Detection(*edges, 0.9, "plate"))
    assert profile.shape == (FEATURE_COUNT,)
    assert np.isfinite(profile).all()


@pytest.mark.parametrize("text", [None, "no json", '{"weights": [1], "widest": 2}'])
def test_a_file_that_holds_something_else_is_reported(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "plate-rows.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(MisconfiguredError, match=r"plate-rows\.json"):
        RowClassifier.load(path)


def test_fitting_learns_what_is_shown() -> None:
    plates = [
        Seen(*shown(layout, seed), two)
        for layout, two in (("de_two_row", True), ("us_ca", False))
        for seed in range(12)
    ]
    rows = RowClassifier(fitted(plates, np.random.default_rng(0)))
    answers = [rows.has_two_rows(*shown("de_two_row", seed)) for seed in range(20, 28)]
    assert answers.count(True) >= 7
    assert not any(rows.has_two_rows(*shown("us_ca", seed)) for seed in range(20, 28))


def test_labels_name_photos_and_no_plates() -> None:
    assert {line.count('"') for line in LABELS.read_text().splitlines()} == {8}
