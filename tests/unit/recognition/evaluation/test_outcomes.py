"""The outcome of a labelled plate, and the classes by which plates are counted."""

from pathlib import Path

import pytest

from common.records.frames import Box as FrameBox
from common.records.recognitions import PlateReading
from recognition.evaluation.outcomes import CLASSES, PlateOutcome, on_no_plate, outcomes
from recognition.evaluation.photos import LabelledPlate, Photo
from recognition.types import Box

HERE: Box = (100.0, 100.0, 200.0, 125.0)
THERE: Box = (300.0, 200.0, 350.0, 230.0)


def photo(*plates: LabelledPlate) -> Photo:
    return Photo("set/1.jpg", Path("set/1.jpg"), 600, 400, plates, exhaustive=True)


def plate(text: str = "AB12CD", box: Box = HERE, region: str | None = None) -> LabelledPlate:
    return LabelledPlate(text, False, box, region)


def read(text: str, confidence: float, box: Box) -> PlateReading:
    left, top, right, bottom = box
    where = FrameBox(x=left, y=top, width=right - left, height=bottom - top)
    return PlateReading(
        text=text, confidence=confidence, detection_confidence=1.0, box=where, positions=()
    )


def only(*predictions: PlateReading) -> PlateOutcome:
    (found,) = outcomes(photo(plate()), predictions)
    return found


def test_a_plate_without_a_reading_is_neither_found_nor_correct() -> None:
    missed = only()
    assert (missed.found, missed.exact, missed.folded) == (False, False, False)
    assert missed.prediction is None


def test_the_correct_reading_counts_before_a_wrong_one_of_higher_confidence() -> None:
    found = only(read("AB12C0", 0.9, HERE), read("AB12CD", 0.5, HERE))
    assert found.exact
    assert found.prediction is not None
    assert found.prediction.confidence == 0.5


def test_a_look_alike_is_correct_when_folded() -> None:
    (found,) = outcomes(photo(plate("AB1ZCD")), (read("ABIZCD", 0.9, HERE),))
    assert (found.exact, found.folded) == (False, True)


def test_an_unknown_or_uncertain_text_is_never_correct() -> None:
    plates = (plate(""), LabelledPlate("AB12CD", True, THERE, None))
    found = outcomes(photo(*plates), (read("AB12CD", 0.9, THERE),))
    assert [(one.plate.certain, one.exact, one.folded) for one in found] == [
        (False, False, False)
    ] * 2


def test_among_several_plates_a_text_counts_only_in_its_place() -> None:
    two = photo(plate("AB12CD"), plate("XY34ZZ", THERE))
    first, second = outcomes(two, (read("XY34ZZ", 0.9, HERE),))
    assert (first.exact, second.exact) == (False, False)
    assert (first.found, second.found) == (True, False)


def test_a_reading_next_to_all_plates_is_on_no_plate() -> None:
    found = (read("AB12CD", 0.9, HERE), read("SIGN", 0.6, THERE))
    assert [one.text for one in on_no_plate(photo(plate()), found)] == ["SIGN"]


@pytest.mark.parametrize(
    ("width", "name"), [(10, "  0 to 39 px"), (40, " 40 to 59 px"), (500, "120 px or more")]
)
def test_widths_fall_into_classes(width: float, name: str) -> None:
    (found,) = outcomes(photo(plate(box=(0.0, 0.0, float(width), 10.0))), ())
    assert CLASSES["plate width"](found) == name


def test_shape_country_and_data_set() -> None:
    wide, tall = plate(region="us-ca"), plate(box=THERE, region="eu-de")
    first, second = outcomes(photo(wide, tall), ())
    shapes = [CLASSES["shape"](one) for one in (first, second)]
    assert shapes == ["one row", "two rows or US format"]
    assert [CLASSES["country"](one) for one in (first, second)] == ["us", "eu-de"]
    assert CLASSES["data set"](first) == "set"
