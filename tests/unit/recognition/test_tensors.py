"""From images to tensors: how a frame is made smaller."""

import numpy as np
import pytest

from recognition.model_card import InputCard
from recognition.tensors import letterbox, tensor_shape, to_tensor
from tests.unit.recognition.cards import detector_card, reader_card


def test_a_large_frame_keeps_the_mean_of_thin_strokes() -> None:
    image = np.zeros((720, 1280, 3), np.uint8)
    image[:, ::4] = 200
    canvas, where = letterbox(image, 320, 192, 114)
    inside = canvas[where.top : where.top + 180]
    assert inside.mean() == pytest.approx(50, abs=1)
    assert inside.std() < 10


@pytest.mark.parametrize("size", [(1081, 1923), (37, 2000), (5, 5), (360, 640)])
def test_any_size_fills_its_place(size: tuple[int, int]) -> None:
    canvas, where = letterbox(np.full((*size, 3), 255, np.uint8), 640, 384, 0)
    assert canvas.shape == (384, 640, 3)
    height, width = (max(1, round(side * where.scale)) for side in size)
    white = canvas.min(axis=2) > 0
    assert white.sum() == height * width
    assert white[where.top, where.left]


@pytest.mark.parametrize("card", [detector_card().input, reader_card().input])
def test_the_shape_is_that_of_the_tensor(card: InputCard) -> None:
    tensor = to_tensor([np.zeros((64, 128, 3), np.uint8)], card)
    assert tensor_shape(128, 64, card) == tensor.shape
