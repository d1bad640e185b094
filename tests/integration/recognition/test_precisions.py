"""Results of the models in each number format and runtime."""

from functools import cache

import pytest

from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from tests.integration.streams.recognition.scenes import PLATES, Parked, car_scene, jpeg
from tools.benchmarks.demo_clip import demo_frame

pytestmark = pytest.mark.integration

Read = list[tuple[str, float, float, float]]
"""Texts in an image, with their confidences and the centres of their boxes in pixels."""


@cache
def photos() -> list[bytes]:
    """Frames of the demo clip, and drawn scenes with several plates or none."""
    return [
        demo_frame(),
        demo_frame(13),
        *(jpeg(car_scene([Parked(plate)])) for plate in PLATES),
        jpeg(car_scene([Parked(PLATES[0], 400), Parked(PLATES[1], 900)])),
        jpeg(car_scene()),
    ]


def read_by(precision: str, runtime: str = "openvino") -> list[Read]:
    settings = {"recognition_precision": precision, "recognition_runtime": runtime}
    recognizer = Recognizer(RecognizerSettings.model_validate(settings))
    return [
        sorted(
            (
                one.text,
                one.confidence,
                one.box.x + one.box.width / 2,
                one.box.y + one.box.height / 2,
            )
            for one in recognizer.recognize(image)
        )
        for image in map(decode_image, photos())
    ]


@pytest.fixture(scope="module")
def by_default() -> list[Read]:
    return read_by("auto")


def test_drawn_plates_are_read(by_default: list[Read]) -> None:
    for plate, read in zip(PLATES, by_default[2:], strict=False):
        ((text, confidence, x, y),) = read
        assert text == plate
        assert confidence > 0.8
        assert (x, y) == pytest.approx((640, 480), abs=8)


@pytest.mark.parametrize(
    ("precision", "runtime"),
    [
        ("int8", "openvino"),
        pytest.param("bf16", "openvino", marks=pytest.mark.long),
        ("float", "openvino"),
        pytest.param("int8", "onnxruntime", marks=pytest.mark.long),
        ("float", "onnxruntime"),
    ],
)
def test_every_precision_reads_the_same(
    precision: str, runtime: str, by_default: list[Read]
) -> None:
    said = read_by(precision, runtime)
    assert sum(map(len, by_default)) >= len(PLATES) + 4
    for one, expected in zip(said, by_default, strict=True):
        assert [text for text, *_ in one] == [text for text, *_ in expected]
        for (_, confidence, *middle), (_, usual_confidence, *usual) in zip(
            one, expected, strict=True
        ):
            assert confidence == pytest.approx(usual_confidence, abs=0.05)
            assert middle == pytest.approx(usual, abs=2)
