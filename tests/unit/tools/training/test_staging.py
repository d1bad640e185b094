import numpy as np
import pytest

from recognition.types import iou
from tools.synthetic.layouts import LAYOUTS
from tools.training.staging import (
    exchange_plates,
    floating_plates,
    made_to_order,
)

PLATE = (200.0, 200.0, 320.0, 230.0)
SMALL = (10.0, 10.0, 30.0, 16.0)


def photo() -> np.ndarray:
    return np.full((480, 640, 3), 120, np.uint8)


def test_a_plate_is_exchanged_where_it_was() -> None:
    for seed in range(8):
        staged = exchange_plates(photo(), (PLATE,), np.random.default_rng(seed))
        (box,) = staged.plates
        assert iou(box, PLATE) > 0.2
        x1, y1, x2, y2 = (round(v) for v in box)
        changed = (staged.image != 120).any(axis=2)
        assert changed[y1:y2, x1:x2].mean() > 0.6
        changed[max(0, y1 - 4) : y2 + 4, max(0, x1 - 4) : x2 + 4] = False
        assert not changed.any()


def test_plates_too_small_to_show_a_layout_stay() -> None:
    staged = exchange_plates(photo(), (SMALL,), np.random.default_rng(0))
    assert staged.plates == (SMALL,)
    assert (staged.image == 120).all()


def test_the_given_photo_is_not_changed() -> None:
    given = photo()
    exchange_plates(given, (PLATE,), np.random.default_rng(0))
    assert (given == 120).all()


@pytest.mark.parametrize("seed", range(24))
def test_floating_plates_lie_apart_and_inside(seed: int) -> None:
    staged = floating_plates(np.random.default_rng(seed))
    height, width = staged.image.shape[:2]
    assert staged.plates
    for index, (x1, y1, x2, y2) in enumerate(staged.plates):
        assert 0 <= x1 < x2 <= width
        assert 0 <= y1 < y2 <= height
        assert not any(iou((x1, y1, x2, y2), other) for other in staged.plates[:index])


@pytest.mark.parametrize("seed", range(8))
def test_a_plate_made_to_order_has_a_larger_ground_than_its_country_gives_it(seed: int) -> None:
    plate = made_to_order(np.random.default_rng(seed))
    usual = next(one for one in LAYOUTS if one.rows == plate.layout.rows)
    assert plate.layout.width_mm > usual.width_mm
    assert plate.layout.height_mm > usual.height_mm
    assert plate.layout.lettering == usual.lettering
    assert usual.matches(plate.text)
