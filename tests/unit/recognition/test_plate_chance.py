from typing import Any

import pytest

from recognition.model_card import PlateChanceCard
from recognition.plate_chance import Signs, chance_of_plate, weighed
from tests.unit.recognition.cards import plate_chance_card

PLATE = Signs(score=0.5, share=0.1, text="AB123CD", least_sure=0.5)


def plate(**changes: Any) -> Signs:
    return PLATE._replace(**changes)


def test_what_no_card_tells_of_is_a_plate() -> None:
    assert chance_of_plate(PLATE, None) == 1.0


@pytest.mark.parametrize("sign", ["score", "least_sure"])
def test_sureness_counts_by_its_odds(sign: str) -> None:
    card = plate_chance_card(**{sign: 2.0})
    chances = [chance_of_plate(plate(**{sign: p}), card) for p in (0.2, 0.5, 0.9)]
    assert chances == pytest.approx([1 / 17, 0.5, 81 / 82])


@pytest.mark.parametrize("sign", ["score", "least_sure"])
def test_sureness_of_nothing_or_all_is_no_proof(sign: str) -> None:
    card = plate_chance_card(**{sign: 1.0})
    chances = [chance_of_plate(plate(**{sign: p}), card) for p in (0.0, 1.0)]
    assert chances == pytest.approx([0.0001, 0.9999])


@pytest.mark.parametrize(
    ("sign", "told", "others"),
    [
        ("letters_alone", ("WELCOME",), ("WELC0ME", "1234567")),
        ("digits_alone", ("1234567",), ("WELC0ME", "WELCOME")),
        ("at_most_three", ("A1", "A12"), ("A123", "AB12")),
        ("four_characters", ("A123", "1234", "BACK"), ("A12", "A1234")),
    ],
)
def test_a_text_counts_by_what_it_is(
    sign: str, told: tuple[str, ...], others: tuple[str, ...]
) -> None:
    card = plate_chance_card(**{sign: -3.0})
    unlikely = 1 / (1 + 2.718281828**3)
    for text in told:
        assert chance_of_plate(plate(text=text), card) == pytest.approx(unlikely)
    for text in others:
        assert chance_of_plate(plate(text=text), card) == pytest.approx(0.5)


@pytest.mark.parametrize(("offset", "chance"), [(-1e6, 0.0), (1e6, 1.0)])
def test_weights_beyond_all_measure_are_no_error(offset: float, chance: float) -> None:
    assert chance_of_plate(PLATE, plate_chance_card(offset=offset)) == chance


def test_what_fills_the_picture_counts() -> None:
    card = plate_chance_card(offset=-1.0, close_up=1.0)
    assert chance_of_plate(plate(share=0.41), card) == pytest.approx(0.5)
    assert chance_of_plate(plate(share=0.39), card) == pytest.approx(0.269, abs=0.001)


def test_values_are_as_many_as_weights() -> None:
    assert weighed(PLATE).shape == (len(PlateChanceCard.__struct_fields__),)
