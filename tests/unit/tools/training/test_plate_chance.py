from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from recognition.evaluation.photos import LabelledPlate, Photo
from recognition.reading.confidence import PlateFeatures, plate_probability
from recognition.types import BgrImage, Box, iou
from tools.training.labels import Labels
from tools.training.plate_chance import (
    FeatureFinder,
    counted,
    fitted,
    of_no_plates,
    of_plates,
    views,
)
from tools.training.reader_data import is_held_out

PLATE = PlateFeatures(score=0.8, share=0.1, text="AB123CD", least_sure=0.9)


def test_the_chance_is_what_the_rows_say() -> None:
    unsure, word = PLATE._replace(score=0.4), PLATE._replace(score=0.4, text="PARKING")
    rows = counted([[PLATE] * 900, [unsure] * 30, [word] * 20], True, 1.0)
    rows += counted([[unsure] * 10, [word] * 40, []], False, 1.0)
    card = fitted(rows)
    assert plate_probability(unsure, card) == pytest.approx(0.75, abs=0.06)
    assert plate_probability(word, card) == pytest.approx(1 / 3, abs=0.06)
    assert plate_probability(PLATE, card) > 0.97


def test_what_counts_less_takes_less_of_the_chance() -> None:
    plates, others = counted([[PLATE] * 100], True, 1.0), [[PLATE] * 100]
    halved = fitted(plates + counted(others, False, 0.5))
    assert plate_probability(PLATE, halved) == pytest.approx(2 / 3, abs=0.03)


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


class FixedFinder(FeatureFinder):
    """Detects the same boxes in every image, whatever its size."""

    def __init__(self, *boxes: Box) -> None:
        self._boxes = boxes

    def finds(self, image: BgrImage) -> Iterator[tuple[Box, PlateFeatures]]:
        for box in self._boxes:
            yield box, PLATE._replace(share=(box[2] - box[0]) / image.shape[1])


def photo_with(folder: Path, *plates: LabelledPlate) -> Photo:
    cv2.imwrite(str(folder / "a.png"), np.zeros((200, 400, 3), np.uint8))
    return Photo("a.png", folder / "a.png", 400, 200, plates, exhaustive=False)


def held_out_text() -> str:
    return next(text for text in map("AB{:03d}".format, range(999)) if is_held_out(text))


BOX = (100.0, 100.0, 200.0, 130.0)


def test_finds_at_the_plates_of_a_photo_with_one_that_no_reader_knows_are_plates(
    tmp_path: Path,
) -> None:
    photo = photo_with(tmp_path, LabelledPlate(held_out_text(), False, BOX, None))
    finder = FixedFinder((102.0, 101.0, 199.0, 131.0), (300.0, 20.0, 380.0, 40.0))
    as_it_is, *others = of_plates(photo, finder, np.random.default_rng(1))
    assert [signs.share for signs in as_it_is] == [97 / 400]
    assert len(others) == 3


@pytest.mark.parametrize("uncertain", [True, False])
def test_photos_with_known_or_unreadable_plates_are_left_out(
    tmp_path: Path, uncertain: bool
) -> None:
    known = next(text for text in map("AB{:03d}".format, range(999)) if not is_held_out(text))
    text = held_out_text() if uncertain else known
    photo = photo_with(
        tmp_path, LabelledPlate(text, uncertain, BOX, None), LabelledPlate("", False, BOX, None)
    )
    assert of_plates(photo, FixedFinder(BOX), np.random.default_rng(1)) == []


def test_finds_at_a_label_or_an_uncertain_place_are_not_labelled_as_no_plates(
    tmp_path: Path,
) -> None:
    labels = Labels("a.png", plates=(BOX,), masked=((300.0, 100.0, 380.0, 130.0),))
    sign = (20.0, 20.0, 60.0, 40.0)
    finder = FixedFinder((110.0, 100.0, 210.0, 130.0), (310.0, 100.0, 380.0, 130.0), sign)
    (found,) = of_no_plates(photo_with(tmp_path), labels, finder)
    assert found.share == 40 / 400
