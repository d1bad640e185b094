"""How the files that are trained and measured are fed."""

import numpy as np
import pytest

from recognition.settings import MODELS
from recognition.training.onnx_models import as_floats, as_picture, feed_of, load_card

RED = np.array([[[255, 0, 51]] * 3] * 2, np.uint8)


def test_floats_have_planes_and_pictures_blue_first() -> None:
    assert as_floats(RED).shape == (1, 3, 2, 3)
    assert as_floats(RED)[0, :, 0, 0] == pytest.approx([1.0, 0.0, 0.2])
    assert as_picture(RED).shape == (1, 2, 3, 3)
    assert as_picture(RED)[0, 0, 0].tolist() == [51, 0, 255]


def test_detectors_are_fed_as_their_cards_say() -> None:
    assert feed_of(load_card(MODELS / "plate-detector.onnx")) is as_picture
    assert feed_of(load_card(MODELS / "plate-detector-float.onnx")) is as_floats
    card = load_card(MODELS / "plate-detector.onnx")
    card["input"] |= {"colour": "RGB"}
    with pytest.raises(ValueError, match="plate-detector takes pictures in a way"):
        feed_of(card)
