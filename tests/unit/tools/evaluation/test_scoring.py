"""The figures that the model cards quote."""

from pathlib import Path

import pytest

from recognition.types import Box
from tools.evaluation.photos import Photo, Plate
from tools.evaluation.scoring import Said, score

HERE: Box = (100.0, 100.0, 200.0, 140.0)
ELSEWHERE: Box = (400.0, 300.0, 500.0, 340.0)


def photo(*plates: Plate, exhaustive: bool = False) -> Photo:
    return Photo("set/1.jpg", Path("1.jpg"), 640, 480, plates, exhaustive)


def plate(text: str, box: Box = HERE, uncertain: bool = False) -> Plate:
    return Plate(text, uncertain, box, None)


def test_a_plate_found_and_read_counts_everywhere() -> None:
    figures = score([photo(plate("AB12CD"))], {"set/1.jpg": [Said("AB12CD", 1.0, HERE)]})
    assert (figures.detected, figures.exact, figures.folded, figures.one_edit) == (1, 1, 1, 1)
    assert figures.calibration_error == pytest.approx(0.0)


def test_a_look_alike_is_right_only_when_folded() -> None:
    figures = score([photo(plate("AB10CD"))], {"set/1.jpg": [Said("AB1OCD", 0.8, HERE)]})
    assert (figures.exact, figures.folded, figures.one_edit) == (0, 1, 1)
    assert figures.calibration_error == pytest.approx(0.8)


def test_an_uncertain_text_is_not_scored_but_its_box_is() -> None:
    figures = score([photo(plate("AB10CD", uncertain=True))], {"set/1.jpg": [Said("X", 0.8, HERE)]})
    assert (figures.plates, figures.certain, figures.detected) == (1, 0, 1)


def test_a_find_beside_all_plates_counts_where_all_plates_are_boxed() -> None:
    said = {"set/1.jpg": [Said("AB12CD", 1.0, HERE), Said("SIGN", 0.5, ELSEWHERE)]}
    figures = score([photo(plate("AB12CD"), exhaustive=True)], said)
    assert figures.unlabelled_finds_on_exhaustive == 1
    assert score([photo(plate("AB12CD"))], said).unlabelled_finds_on_exhaustive == 0
