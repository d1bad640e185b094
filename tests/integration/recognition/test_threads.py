"""One engine gives several threads the same results as a single thread."""

from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest

from recognition.engine import Recognizer
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage
from tools.synthetic.layouts import BY_CODE
from tools.synthetic.plates import plate_with_text

pytestmark = pytest.mark.integration

TEXT = "SH350AZ"


def _image(width: int) -> BgrImage:
    plate = plate_with_text(BY_CODE["it"], TEXT, np.random.default_rng(1)).image
    image = np.full((720, 1280, 3), 90, np.uint8)
    height = round(width * plate.shape[0] / plate.shape[1])
    image[400 : 400 + height, 500 : 500 + width] = cv2.resize(plate, (width, height))
    return image


@pytest.mark.long
def test_threads_that_share_an_engine_do_not_mix_up_their_answers() -> None:
    recognizer = Recognizer(RecognizerSettings.model_validate({}))
    images = [_image(width) for width in range(40, 220, 15)]
    alone = [recognizer.detect_and_read(image) for image in images]
    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(recognizer.detect_and_read, images * 5))

    assert [one.text for said in alone for one in said].count(TEXT) > len(images) / 2
    assert together == alone * 5
