"""The data for fitting a reader's confidence."""

import numpy as np
import pytest

from recognition.models.runtime import Tensor
from recognition.reading.reader import Reader
from recognition.types import Character, CropText
from tests.unit.recognition.cards import SaidModel, reader_card, slots_of
from tools.training.calibration import Rated, fitted, rated
from tools.training.reader_data import Sample

RED = np.full((40, 120, 3), (200, 0, 50), np.uint8)


def sample(text: str) -> Sample:
    return Sample(RED, (20.0, 10.0, 100.0, 30.0), text, "drawn")


def read(text: str, probability: float) -> CropText:
    return CropText(tuple(Character(((one, probability),)) for one in text), None)


def test_each_plate_is_read_once_for_each_jitter_and_marked_right_or_wrong() -> None:
    model = SaidModel(lambda batch: {"plate": np.stack([slots_of("AB1")] * len(batch))})

    readings = [*rated([sample("AB1"), sample("CD2")], Reader(reader_card(), model), (0.0, 0.03))]

    assert [one.text.text for one in readings] == ["AB1"] * 4
    assert [one.is_right for one in readings] == [True, False, True, False]


def test_a_reader_is_fed_the_colours_that_its_card_asks_for() -> None:
    def say(batch: Tensor) -> dict[str, Tensor]:
        assert batch[0, 32, 64].tolist() == [200, 0, 50]
        return {"plate": np.stack([slots_of("AB1")])}

    model = SaidModel(say)
    assert [*rated([sample("AB1")], Reader(reader_card(), model), (0.0,))]
    assert model.inputs


def test_the_curve_says_how_often_readings_of_a_probability_are_right() -> None:
    sure, unsure = read("AB1", 0.95), read("AB1", 0.7)
    readings = [Rated(sure, True)] * 97 + [Rated(sure, False)] * 3
    readings += [Rated(unsure, True)] * 40 + [Rated(unsure, False)] * 60

    curve = fitted(readings)

    assert curve(0.95) == pytest.approx(0.97, abs=0.01)
    assert curve(0.7) == pytest.approx(0.4, abs=0.01)
