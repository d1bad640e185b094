import pytest

from contracts.frames import Box
from contracts.readings import PlateReading
from recognition.training.labels import Labels
from recognition.training.plate_chance import Read, fitted, judged

LABELS = Labels("a.jpg", plates=((100, 100, 200, 130),), masked=((300, 100, 400, 130),))


def reading(x: float, text: str = "AB123CD", region: str | None = "France") -> PlateReading:
    return PlateReading(
        text=text,
        confidence=0.9,
        detection_confidence=0.7,
        box=Box(x=x, y=100, width=100, height=30),
        positions=(),
        region=region,
        plate_type="car",
    )


def test_what_meets_a_label_is_a_plate_and_what_meets_nothing_is_none() -> None:
    assert judged(reading(110), LABELS) == Read(0.7, False, False, True)
    assert judged(reading(500, "SALE"), LABELS) == Read(0.7, True, False, False)


@pytest.mark.parametrize(
    ("text", "letters_alone", "no_country"),
    [("AB123CD", False, True), ("SALE", True, False)],
)
def test_what_the_reader_has_no_country_for(
    text: str, letters_alone: bool, no_country: bool
) -> None:
    expected = Read(0.7, letters_alone, no_country, True)
    assert judged(reading(110, text, None), LABELS) == expected


def test_nobody_knows_what_a_doubtful_place_is() -> None:
    assert judged(reading(310), LABELS) is None


def rows(score: float, letters: bool, strange: bool, plates: int, others: int) -> list[Read]:
    of_plates = [Read(score, letters, strange, True)] * plates
    return of_plates + [Read(score, letters, strange, False)] * others


def test_the_chance_rises_with_the_score_and_is_less_for_what_looks_like_no_plate() -> None:
    chance = fitted(
        rows(0.8, False, False, 900, 0)
        + rows(0.8, True, False, 20, 0)
        + rows(0.4, False, False, 30, 10)
        + rows(0.4, True, False, 5, 10)
        + rows(0.4, False, True, 4, 8)
    )
    assert chance.others(0.4) == pytest.approx(0.75, abs=0.06)
    assert chance.letters_alone(0.4) == pytest.approx(1 / 3, abs=0.08)
    assert chance.no_country(0.4) == pytest.approx(1 / 3, abs=0.08)
    assert chance.others(0.8) > 0.98
    assert max(chance.letters_alone(0.8), chance.no_country(0.8)) < chance.others(0.8)
