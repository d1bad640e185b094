import pytest

from contracts.frames import Box
from contracts.readings import PlateReading
from recognition.training.labels import Labels
from recognition.training.plate_chance import Read, fitted, judged

LABELS = Labels("a.jpg", plates=((100, 100, 200, 130),), masked=((300, 100, 400, 130),))


def reading(x: float, text: str = "AB123CD") -> PlateReading:
    return PlateReading(
        text=text,
        confidence=0.9,
        detection_confidence=0.7,
        box=Box(x=x, y=100, width=100, height=30),
        positions=(),
        region=None,
        plate_type="car",
    )


def test_what_meets_a_label_is_a_plate_and_what_meets_nothing_is_none() -> None:
    assert judged(reading(110), LABELS) == Read(0.7, False, True)
    assert judged(reading(500, "SALE"), LABELS) == Read(0.7, True, False)


def test_nobody_knows_what_a_doubtful_place_is() -> None:
    assert judged(reading(310), LABELS) is None


def test_the_chance_rises_with_the_score_and_is_less_for_letters_alone() -> None:
    rows = [Read(0.8, False, True)] * 900 + [Read(0.8, True, True)] * 20
    rows += [Read(0.4, False, True)] * 30 + [Read(0.4, False, False)] * 10
    rows += [Read(0.4, True, True)] * 5 + [Read(0.4, True, False)] * 10
    chance = fitted(rows)
    assert chance.others(0.4) == pytest.approx(0.75, abs=0.06)
    assert chance.letters_alone(0.4) == pytest.approx(1 / 3, abs=0.08)
    assert chance.others(0.8) > 0.98
    assert chance.letters_alone(0.8) < chance.others(0.8)
