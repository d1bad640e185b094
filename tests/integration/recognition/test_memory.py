"""An inference worker's memory is stable for images of any size."""

import random

import numpy as np
import psutil
import pytest

from recognition.engine import Recognizer
from recognition.settings import RecognizerSettings

pytestmark = pytest.mark.integration

_MIB = 1 << 20
_GREY = 120


@pytest.mark.long
def test_images_of_ever_new_sizes_take_no_more_memory() -> None:
    chance = random.Random(1)
    recognizer = Recognizer(RecognizerSettings.model_validate({}))

    def read(count: int) -> float:
        for _ in range(count):
            size = chance.randint(200, 1_000), chance.randint(200, 1_000), 3
            recognizer.recognize(np.full(size, _GREY, np.uint8))
        return float(psutil.Process().memory_info().rss / _MIB)

    settled = read(20)
    grown = read(40) - settled
    assert grown < 60, f"{grown:.0f} MiB"
