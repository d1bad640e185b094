"""The canvas of each image; for what the detector gets, see test_detector.py."""

import numpy as np
import pytest

from recognition.detection.canvases import Canvases, letterbox
from tests.unit.recognition.cards import detector_card, recognizer_settings

GPU = {"providers": "CUDAExecutionProvider"}
CANVASES = ((448, 256), (352, 288), (256, 352), (128, 96))


@pytest.mark.parametrize(
    ("width", "height", "given", "canvas"),
    [
        (1920, 1080, {}, (448, 256)),
        (1600, 1200, {}, (352, 288)),
        (600, 900, {}, (256, 352)),
        (1000, 1000, {}, (352, 288)),
        # Small images are shown in the card's size, not larger.
        (160, 90, {}, (352, 288)),
        (5000, 20, {}, (448, 256)),
        (1920, 1080, {"input_size": 500}, (512, 512)),
        (1920, 1080, GPU, (320, 320)),
    ],
)
def test_each_image_has_its_canvas(
    width: int, height: int, given: dict[str, object], canvas: tuple[int, int]
) -> None:
    card = detector_card(dynamic_size=True, canvases=CANVASES).input
    assert Canvases(card, recognizer_settings(**given)).choose(width, height) == canvas


def test_a_model_of_one_size_has_one_canvas() -> None:
    canvases = Canvases(detector_card().input, recognizer_settings(input_size=640))
    assert canvases.sizes == ((320, 320),)
    assert canvases.smallest == (320, 320)


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
