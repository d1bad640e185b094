"""Measuring the models' variants on this processor, and what each of them reads."""

from functools import cache
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.models.runtime import load_for_one_size, load_model
from recognition.settings import (
    DETECTORS,
    DetectorNumbers,
    Precision,
    RecognizerPoolSettings,
    RecognizerSettings,
    RuntimeName,
)
from recognition.variants.benchmark import MAX_CPU_SECONDS
from recognition.variants.choice import choice_here
from recognition.workers.pool import RecognizerPool
from tests.integration.recognition.test_models import an_input
from tests.integration.streams.recognition.scenes import PLATES, Parked, car_scene, jpeg
from tools.benchmarks.demo_clip import demo_frame

pytestmark = pytest.mark.integration

_TOO_BUSY = "the processor is too slow or busy to measure its variants in time"


@cache
def photos() -> list[bytes]:
    """Frames of the demo clip, and drawn scenes of several plates and none."""
    return [
        demo_frame(),
        demo_frame(13),
        *(jpeg(car_scene([Parked(plate)])) for plate in PLATES),
        jpeg(car_scene([Parked(PLATES[0], 400), Parked(PLATES[1], 900)])),
        jpeg(car_scene()),
    ]


def engine(numbers: str, precision: str, runtime: str = "openvino") -> Recognizer:
    return Recognizer(
        RecognizerSettings.model_validate(
            {
                "recognition_detector": numbers,
                "recognition_detector_precision": precision,
                "recognition_reader_precision": precision,
                "recognition_runtime": runtime,
            }
        )
    )


@pytest.fixture(scope="module")
def by_default() -> list[list[tuple[str, float, float]]]:
    return read_by(engine("auto", "auto"))


def read_by(recognizer: Recognizer) -> list[list[tuple[str, float, float]]]:
    """The texts of each photo, with their confidences and places."""
    return [
        sorted((one.text, one.confidence, one.box.x) for one in recognizer.recognize(image))
        for image in map(decode_image, photos())
    ]


@pytest.mark.parametrize(
    ("numbers", "precision", "runtime"),
    [
        ("int8", "f32", "openvino"),
        ("int8", "bf16", "openvino"),
        ("float", "f32", "openvino"),
        ("float", "bf16", "openvino"),
        ("int8", "f32", "onnxruntime"),
        ("float", "f32", "onnxruntime"),
    ],
)
def test_every_variant_that_may_be_chosen_reads_the_same(
    numbers: str,
    precision: str,
    runtime: str,
    by_default: list[list[tuple[str, float, float]]],
) -> None:
    said = read_by(engine(numbers, precision, runtime))
    assert sum(map(len, by_default)) >= len(PLATES) + 4
    for one, expected in zip(said, by_default, strict=True):
        assert [text for text, _, _ in one] == [text for text, _, _ in expected]
        for (_, confidence, x), (_, usual_confidence, usual_x) in zip(one, expected, strict=True):
            assert confidence == pytest.approx(usual_confidence, abs=0.05)
            assert x == pytest.approx(usual_x, abs=2)


async def test_a_pool_measures_at_its_first_start_and_remembers(tmp_path: Path) -> None:
    settings = RecognizerPoolSettings.model_validate(
        {"recognition_cache_folder": tmp_path, "recognition_workers": 1}
    )
    with capture_logs() as logged:
        async with RecognizerPool(settings) as pool:
            first = pool.choice
            read = await pool.read_image(jpeg(car_scene([Parked(PLATES[0])])))
    assert [one.text for one in read.readings] == [PLATES[0]]
    if first is None:  # the default stays
        refused = [one["error"] for one in logged if one["event"] == "variants_not_measured"]
        assert refused in ([_TOO_BUSY], ["TimeoutError"])
    else:
        assert first.cpu_seconds < 3 * MAX_CPU_SECONDS
        assert first.detector_ms.keys() == {"int8", "float"}
        assert min(first.detector_ms.values()) > 0
        async with RecognizerPool(settings) as again:
            assert again.choice == first
        assert choice_here(settings) == first


def test_a_model_of_one_size_says_the_same() -> None:
    tensor = an_input(384, 256)
    for runtime in RuntimeName:
        settings = RecognizerSettings.model_validate({"recognition_runtime": runtime})
        path = DETECTORS[DetectorNumbers.INT8]
        alone = load_for_one_size(path, settings, Precision.F32, tensor.shape).run(tensor)
        usual = load_model(path, settings, Precision.F32).run(tensor)
        assert alone["output0"] == pytest.approx(usual["output0"], abs=1e-3)
