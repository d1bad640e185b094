"""What becomes of a labelled plate, and how plates are put into classes."""

from pathlib import Path

import numpy as np
import pytest

from recognition.types import Box
from tools.evaluation.outcomes import (
    PlateOutcome,
    group_of,
    invented,
    light_class,
    outcomes,
    region_of,
    shape_class,
    slices,
    width_class,
)
from tools.evaluation.photos import Photo, Plate
from tools.evaluation.scoring import Said

HERE: Box = (100.0, 100.0, 200.0, 125.0)
THERE: Box = (300.0, 200.0, 350.0, 230.0)
GREY = np.full((400, 600, 3), 80, np.uint8)


def photo(*plates: Plate) -> Photo:
    return Photo("set/1.jpg", Path("set/1.jpg"), 600, 400, plates, exhaustive=True)


def plate(text: str = "AB12CD", box: Box = HERE, region: str | None = None) -> Plate:
    return Plate(text, False, box, region)


def only(*said: Said) -> PlateOutcome:
    (found,) = outcomes(photo(plate()), said, GREY)
    return found


def test_a_plate_that_nobody_read_is_neither_found_nor_right() -> None:
    missed = only()
    assert (missed.found, missed.exact, missed.folded, missed.said) == (False, False, False, None)


def test_the_right_reading_counts_before_a_surer_wrong_one() -> None:
    found = only(Said("AB12C0", 0.9, HERE), Said("AB12CD", 0.5, HERE))
    assert found.exact
    assert found.said is not None
    assert found.said.confidence == 0.5


def test_a_look_alike_is_right_when_folded() -> None:
    (found,) = outcomes(photo(plate("AB1ZCD")), (Said("ABIZCD", 0.9, HERE),), GREY)
    assert (found.exact, found.folded) == (False, True)


def test_among_several_plates_a_text_counts_only_in_its_place() -> None:
    two = photo(plate("AB12CD"), plate("XY34ZZ", THERE))
    first, second = outcomes(two, (Said("XY34ZZ", 0.9, HERE),), GREY)
    assert (first.exact, second.exact) == (False, False)
    assert (first.found, second.found) == (True, False)


def test_a_reading_beside_all_plates_is_invented() -> None:
    said = (Said("AB12CD", 0.9, HERE), Said("SIGN", 0.6, THERE))
    assert [s.text for s in invented(photo(plate()), said)] == ["SIGN"]


@pytest.mark.parametrize(
    ("width", "name"), [(10, "  0 to 39 px"), (40, " 40 to 59 px"), (500, "120 px or more")]
)
def test_widths_fall_into_classes(width: float, name: str) -> None:
    box = (0.0, 0.0, float(width), 10.0)
    (found,) = outcomes(photo(plate(box=box)), (), GREY)
    assert width_class(found) == name


@pytest.mark.parametrize(
    ("grey", "name"),
    [(10, "  0 to 59 (dark)"), (80, " 60 to 99 (dim)"), (200, "100 or more (bright)")],
)
def test_light_is_what_surrounds_the_plate(grey: int, name: str) -> None:
    (found,) = outcomes(photo(plate()), (), np.full((400, 600, 3), grey, np.uint8))
    assert light_class(found) == name


def test_shape_country_and_data_set() -> None:
    wide, tall = plate(region="us-ca"), plate(box=THERE, region="eu-de")
    first, second = outcomes(photo(wide, tall), (), GREY)
    assert [shape_class(o) for o in (first, second)] == ["one row", "two rows or American"]
    assert [region_of(o) for o in (first, second)] == ["us", "eu-de"]
    assert group_of(first) == "set"


def test_slices_count_by_key() -> None:
    rows = outcomes(photo(plate(), plate("XY34ZZ", THERE)), (Said("AB12CD", 0.9, HERE),), GREY)
    (all_,) = slices(rows, group_of)
    assert (all_.plates, all_.found, all_.certain, all_.exact) == (2, 1, 2, 1)
