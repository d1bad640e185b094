from pathlib import Path

from recognition.evaluation.outcomes import Prediction
from recognition.evaluation.photos import LabelledPlate, Photo
from tools.training.labels import Labels
from tools.training.threshold import Mistakes, cheapest, mistakes

PLATE = (100.0, 100.0, 200.0, 125.0)
UNCERTAIN = (300.0, 100.0, 400.0, 125.0)
NOTHING = (500.0, 300.0, 600.0, 325.0)
PHOTO = Photo(
    "a.jpg", Path("a.jpg"), 640, 480, (LabelledPlate("AB123", False, PLATE, None),), False
)
LABELS = Labels("a.jpg", (PLATE,), (UNCERTAIN,))


def test_a_plate_without_a_find_is_missed() -> None:
    assert mistakes(PHOTO, LABELS, []) == Mistakes(missed=1)
    assert mistakes(PHOTO, LABELS, [Prediction("AB123", 0.9, PLATE)]) == Mistakes()


def test_a_reading_where_no_plate_may_be_is_invented() -> None:
    found = [Prediction("AB123", 0.9, PLATE), Prediction("OPEN24", 0.9, NOTHING)]
    assert mistakes(PHOTO, LABELS, found) == Mistakes(invented=1)


def test_what_is_not_reported_or_may_be_a_plate_is_not_invented() -> None:
    found = [
        Prediction("AB123", 0.9, PLATE),
        Prediction("OPEN24", 0.1, NOTHING),
        Prediction("TA", 0.9, NOTHING),
        Prediction("XY999", 0.9, UNCERTAIN),
    ]
    assert mistakes(PHOTO, LABELS, found) == Mistakes()


def test_the_cheapest_and_of_equals_the_highest_is_chosen() -> None:
    costs = {0.1: Mistakes(1, 4), 0.2: Mistakes(2, 1), 0.3: Mistakes(3, 0), 0.4: Mistakes(9, 0)}
    assert cheapest(costs) == 0.3
