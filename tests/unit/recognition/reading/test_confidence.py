from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recognition.models.model_card import CalibrationCard, PlateProbabilityCard
from recognition.reading.confidence import (
    PlateFeatures,
    calibrate,
    calibrated_confidence,
    feature_vector,
    plate_probability,
)
from recognition.types import Character
from tests.unit.recognition.cards import plate_chance_card

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


PLATE = PlateFeatures(score=0.5, share=0.1, text="AB123CD", least_sure=0.5)


def plate(**changes: Any) -> PlateFeatures:
    return PLATE._replace(**changes)


def test_what_no_card_describes_is_a_plate() -> None:
    assert plate_probability(PLATE, None) == 1.0


@pytest.mark.parametrize("sign", ["score", "least_sure"])
def test_probability_counts_by_its_odds(sign: str) -> None:
    card = plate_chance_card(**{sign: 2.0})
    chances = [plate_probability(plate(**{sign: p}), card) for p in (0.2, 0.5, 0.9)]
    assert chances == pytest.approx([1 / 17, 0.5, 81 / 82])


@pytest.mark.parametrize("sign", ["score", "least_sure"])
def test_probability_of_zero_or_one_is_no_proof(sign: str) -> None:
    card = plate_chance_card(**{sign: 1.0})
    chances = [plate_probability(plate(**{sign: p}), card) for p in (0.0, 1.0)]
    assert chances == pytest.approx([0.0001, 0.9999])


@pytest.mark.parametrize(
    ("sign", "affected", "others"),
    [
        ("letters_alone", ("WELCOME",), ("WELC0ME", "1234567")),
        ("digits_alone", ("1234567",), ("WELC0ME", "WELCOME")),
        ("at_most_three", ("A1", "A12"), ("A123", "AB12")),
        ("four_characters", ("A123", "1234", "BACK"), ("A12", "A1234")),
    ],
)
def test_a_text_counts_by_what_it_is(
    sign: str, affected: tuple[str, ...], others: tuple[str, ...]
) -> None:
    card = plate_chance_card(**{sign: -3.0})
    unlikely = 1 / (1 + 2.718281828**3)
    for text in affected:
        assert plate_probability(plate(text=text), card) == pytest.approx(unlikely)
    for text in others:
        assert plate_probability(plate(text=text), card) == pytest.approx(0.5)


@pytest.mark.parametrize(("offset", "chance"), [(-1e6, 0.0), (1e6, 1.0)])
def test_weights_beyond_all_measure_are_no_error(offset: float, chance: float) -> None:
    assert plate_probability(PLATE, plate_chance_card(offset=offset)) == chance


def test_what_fills_the_image_counts() -> None:
    card = plate_chance_card(offset=-1.0, close_up=1.0)
    assert plate_probability(plate(share=0.41), card) == pytest.approx(0.5)
    assert plate_probability(plate(share=0.39), card) == pytest.approx(0.269, abs=0.001)


def test_values_are_as_many_as_weights() -> None:
    assert feature_vector(PLATE).shape == (len(PlateProbabilityCard.__struct_fields__),)
