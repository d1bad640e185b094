"""Tensors as model cards require them."""

import numpy as np
import pytest

from recognition.models.model_card import InputCard
from recognition.models.tensors import tensor_shape, to_tensor
from tests.unit.recognition.cards import detector_card, reader_card


@pytest.mark.parametrize("card", [detector_card().input, reader_card().input])
def test_the_shape_is_that_of_the_tensor(card: InputCard) -> None:
    tensor = to_tensor([np.zeros((64, 128, 3), np.uint8)], card)
    assert tensor_shape(128, 64, card) == tensor.shape
