"""Input sizes for images, by model card and settings. See test_detector.py for the inputs."""

import numpy as np
import pytest

from recognition.detection.input_sizing import InputSizing, letterbox
from tests.unit.recognition.cards import detector_card, recognizer_settings

GPU = {"providers": "CUDAExecutionProvider"}


@pytest.mark.parametrize(
    ("width", "height", "given", "size_px", "scale"),
    [
        (1920, 1080, {}, (448, 256), 448 / 1920),
        (2688, 1512, {}, (448, 256), 448 / 2688),
        (1600, 1200, {}, (448, 352), 448 / 1600),
        (160, 90, {}, (320, 192), 2.0),
        (1920, 1080, {"input_size": 500}, (512, 288), 512 / 1920),
        (1920, 1080, GPU, (320, 320), 320 / 1920),
    ],
)
def test_each_image_has_its_input_size_and_scale(
    width: int, height: int, given: dict[str, object], size_px: tuple[int, int], scale: float
) -> None:
    card = detector_card(dynamic_size=True, largest_side=448).input
    sizes = InputSizing(card, recognizer_settings(**given))
    assert sizes.size_px(width, height) == size_px
    assert sizes.scale(width, height) == pytest.approx(scale)


def test_an_image_seen_from_afar_comes_to_that_size_where_any_is_taken() -> None:
    card = detector_card(dynamic_size=True).input
    assert InputSizing(card, recognizer_settings()).size_px(1920, 1080, 160) == (160, 96)
    assert InputSizing(card, recognizer_settings(**GPU)).size_px(1920, 1080, 160) == (320, 320)
    fixed = InputSizing(detector_card().input, recognizer_settings(input_size=640))
    assert not fixed.takes_any_size
    assert fixed.size_px(1920, 1080, 160) == (320, 320)


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
