import numpy as np

from tests.unit.recognition.cards import detector_card, reader_card
from tools.training.speed import tensor_for


def test_a_model_is_timed_on_what_its_card_asks_for() -> None:
    of_detector = tensor_for(detector_card().input, 416)
    assert of_detector.shape == (1, 3, 416, 416)
    assert of_detector.dtype == np.float32
    assert 0 <= of_detector.min() < of_detector.max() <= 1
    of_reader = tensor_for(reader_card().input, None)
    assert of_reader.shape == (1, 64, 128, 3)
    assert of_reader.dtype == np.uint8
