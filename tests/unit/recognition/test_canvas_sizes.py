"""To what size images are brought, by card and settings; how they are fed: test_detector.py."""

import pytest

from recognition.canvas_sizes import CanvasSizes
from tests.unit.recognition.cards import detector_card, recognizer_settings

GPU = {"providers": "CUDAExecutionProvider"}


@pytest.mark.parametrize(
    ("width", "height", "given", "canvas", "scale"),
    [
        (1920, 1080, {}, (448, 256), 448 / 1920),
        (2688, 1512, {}, (448, 256), 448 / 2688),
        (1600, 1200, {}, (448, 352), 448 / 1600),
        (160, 90, {}, (320, 192), 2.0),
        (1920, 1080, {"input_size": 500}, (512, 288), 512 / 1920),
        (1920, 1080, GPU, (320, 320), 320 / 1920),
    ],
)
def test_canvas_and_scale(
    width: int, height: int, given: dict[str, object], canvas: tuple[int, int], scale: float
) -> None:
    card = detector_card(dynamic_size=True, largest_side=448).input
    sizes = CanvasSizes(card, recognizer_settings(**given))
    assert sizes.canvas(width, height) == canvas
    assert sizes.scale(width, height) == pytest.approx(scale)


def test_an_image_seen_from_afar_comes_to_that_size_where_any_is_taken() -> None:
    card = detector_card(dynamic_size=True).input
    assert CanvasSizes(card, recognizer_settings()).canvas(1920, 1080, 160) == (160, 96)
    assert CanvasSizes(card, recognizer_settings(**GPU)).canvas(1920, 1080, 160) == (320, 320)
    fixed = CanvasSizes(detector_card().input, recognizer_settings(input_size=640))
    assert not fixed.are_free
    assert fixed.canvas(1920, 1080, 160) == (320, 320)
