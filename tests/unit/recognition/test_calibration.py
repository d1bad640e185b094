import pytest
from hypothesis import given
from hypothesis import strategies as st

from recognition.calibration import calibrate, calibrated_confidence
from recognition.model_card import CalibrationCard
from recognition.types import Character

CARD = CalibrationCard(method="piecewise_linear", x=(0.0, 0.5, 1.0), y=(0.0, 0.2, 0.98))

probabilities = st.lists(st.floats(0.2, 1.0), min_size=1, max_size=10)


def characters(best: list[float]) -> tuple[Character, ...]:
    return tuple(Character((("A", p), ("B", (1 - p) / 2), ("C", (1 - p) / 4))) for p in best)


def mean(found: tuple[Character, ...]) -> float:
    return sum(c.options[0][1] for c in found) / len(found)


def test_without_a_card_the_mean_is_the_confidence() -> None:
    assert calibrated_confidence(0.7, None) == 0.7


def test_interpolates_between_the_points() -> None:
    assert calibrated_confidence(0.75, CARD) == pytest.approx(0.59)


@given(probabilities)
def test_mean_of_the_characters_is_the_calibrated_confidence(best: list[float]) -> None:
    before = characters(best)
    after = calibrate(before, CARD)
    assert mean(after) == pytest.approx(calibrated_confidence(mean(before), CARD), abs=1e-3)


@given(probabilities)
def test_options_stay_probabilities_in_order(best: list[float]) -> None:
    for character in calibrate(characters(best), CARD):
        values = [p for _, p in character.options]
        assert all(0 <= p <= 1 for p in values)
        assert sum(values) <= 1 + 1e-6


@given(probabilities)
def test_without_a_card_nothing_changes(best: list[float]) -> None:
    for before, after in zip(characters(best), calibrate(characters(best), None), strict=True):
        assert after.options[0][1] == pytest.approx(before.options[0][1], abs=1e-5)


def test_no_characters_stay_none() -> None:
    assert calibrate((), CARD) == ()
