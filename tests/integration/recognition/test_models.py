"""The bundled models, in both runtimes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.errors import MisconfiguredError
from recognition.detection.detector import Detector
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.models.model_card import DetectorCard, load_card
from recognition.models.runtime import Model, Tensor, load_model
from recognition.reading.reader import Reader
from recognition.settings import Precision, RecognizerSettings, RuntimeName
from tests.integration.streams.recognition.scenes import PLATES, Parked, car_scene, jpeg


def recognizer(
    runtime: RuntimeName = RuntimeName.OPENVINO, precision: Precision = Precision.AUTO
) -> Recognizer:
    return Recognizer(
        RecognizerSettings.model_validate(
            {"recognition_runtime": runtime, "recognition_precision": precision}
        )
    )


def test_runtimes_agree() -> None:
    image = decode_image(jpeg(car_scene([Parked(PLATES[0], 400), Parked(PLATES[1], 900)])))
    exact = [recognizer(runtime, Precision.FLOAT).recognize(image) for runtime in RuntimeName]
    assert len(exact[0]) == 2
    for one, other in zip(*exact, strict=True):
        assert one.text == other.text
        assert one.confidence == pytest.approx(other.confidence, abs=0.01)
        assert one.box.x == pytest.approx(other.box.x, abs=1)


def test_images_together_say_what_each_says_alone() -> None:
    """All batches have one size, as on a GPU, but the CPU computes the results here."""
    gpu = RecognizerSettings.model_validate(
        {"recognition_providers": "CUDAExecutionProvider,CPUExecutionProvider"}
    )
    here = RecognizerSettings.model_validate({"recognition_runtime": RuntimeName.ONNXRUNTIME})
    model = load_model(gpu.detector_path, here, Precision.FLOAT)
    card = load_card(DetectorCard, gpu.detector_path)
    assert card.input.dynamic_batch
    engine = Recognizer(gpu, (Detector(card, model, gpu), Reader.load(here)))
    two = car_scene([Parked(PLATES[0], 400), Parked(PLATES[1], 900)])
    images = [decode_image(jpeg(one)) for one in (two, car_scene(), car_scene([Parked(PLATES[2])]))]
    images.append(np.ascontiguousarray(images[2][:, 300:]))

    alone = [engine.recognize(image) for image in images]
    together = [found.readings for found in engine.find_all(images, [0] * len(images))]

    assert [len(one) for one in alone] == [2, 0, 1, 1]
    for said, expected in zip(together, alone, strict=True):
        assert [one.text for one in said] == [one.text for one in expected]
        for one, other in zip(said, expected, strict=True):
            assert one.confidence == pytest.approx(other.confidence, abs=1e-3)
            assert one.box.x == pytest.approx(other.box.x, abs=0.1)
    whole, narrow = engine.find_all(images[2:], [0, 2000])
    assert (len(whole.readings), whole.left.small) == (1, 0)
    assert (narrow.readings, narrow.left.small) == ([], 1)


@pytest.mark.parametrize("count", [1, 37])
def test_a_gpu_gets_tensors_of_one_shape(count: int) -> None:
    """A GPU prepares again for each shape. The CPU computes here, under another provider's name."""
    not_only = {"recognition_providers": "AzureExecutionProvider,CPUExecutionProvider"}
    here = RecognizerSettings.model_validate({"recognition_runtime": RuntimeName.ONNXRUNTIME})
    gpu = here.model_copy(update=not_only)
    crops = np.random.default_rng(0).integers(0, 255, (count, 64, 128, 3)).astype(np.uint8)
    model = load_model(gpu.reader_path, gpu, Precision.FLOAT)
    session = _Shapes(model._session)  # type: ignore[attr-defined]
    model._session = session  # type: ignore[attr-defined]

    said = model.run(crops)

    expected = load_model(here.reader_path, here, Precision.FLOAT).run(crops)
    assert session.seen == {(32, 64, 128, 3)}
    for name, values in expected.items():
        np.testing.assert_allclose(said[name], values, atol=1e-5)


def test_rows_that_are_not_one_an_image_come_as_they_are() -> None:
    not_only = {"recognition_providers": "AzureExecutionProvider,CPUExecutionProvider"}
    gpu = RecognizerSettings.model_validate(
        {"recognition_runtime": RuntimeName.ONNXRUNTIME} | not_only
    )
    model = load_model(gpu.reader_path, gpu, Precision.FLOAT)
    model._session = _Rows()  # type: ignore[attr-defined]

    for _ in range(2):
        said = model.run(np.ones((3, 64, 128, 3), np.uint8))
        assert {name: value.tolist() for name, value in said.items()} == {
            "plate": [3, 3, 3, 3],
            "region": [3, 3, 3, 3],
        }


class _Shapes:
    """A session that records the shapes of its inputs."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.seen = set[tuple[int, ...]]()

    def run(self, outputs: list[str], inputs: dict[str, Tensor]) -> list[Tensor]:
        self.seen |= {tensor.shape for tensor in inputs.values()}
        return list(self._session.run(outputs, inputs))


class _Rows:
    """A session that returns one row more than there are images. Each row is the image count."""

    def run(self, outputs: list[str], inputs: dict[str, Tensor]) -> list[Tensor]:
        (images,) = inputs.values()
        return [np.full(len(images) + 1, len(images)) for _ in outputs]


def test_an_empty_road_has_no_plates() -> None:
    assert recognizer().recognize(decode_image(jpeg(car_scene()))) == []


@pytest.mark.parametrize("size", [(1, 1), (3, 2000), (2000, 3), (40, 40)])
def test_takes_images_of_any_shape(size: tuple[int, int]) -> None:
    assert recognizer().recognize(np.zeros((*size, 3), np.uint8)) == []


def test_a_file_that_is_no_model_is_said_so(tmp_path: Path) -> None:
    broken = tmp_path / "plate-detector.onnx"
    broken.write_bytes(b"no model")
    with pytest.raises(MisconfiguredError):
        Recognizer(RecognizerSettings.model_validate({"recognition_detector_model": broken}))


_READ_ONCE = """
import sys
import numpy as np
from recognition.engine import Recognizer
from recognition.settings import RecognizerSettings
Recognizer(RecognizerSettings()).recognize(np.zeros((64, 64, 3), np.uint8))
heavy = {"torch", "keras", "tensorflow", "ultralytics", "openvino_telemetry"}
print(sorted(name for name in heavy if sys.modules.get(name) is not None))
"""


@pytest.mark.parametrize("runtime", list(RuntimeName))
def test_serving_imports_nothing_heavy_and_leaves_no_trace(
    tmp_path: Path, runtime: RuntimeName
) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PLATESTREAM_RECOGNITION_RUNTIME": runtime.value,
    }
    read = subprocess.run(
        [sys.executable, "-c", _READ_ONCE],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert read.stdout == "[]\n"
    assert list(tmp_path.iterdir()) == []


CANVAS, OTHER = (640, 384), (160, 96)


@pytest.mark.long
@pytest.mark.parametrize("precision", [Precision.BF16, Precision.FLOAT])
def test_a_canvas_is_compiled_once_and_gives_the_same(precision: Precision) -> None:
    settings = RecognizerSettings.model_validate({"recognition_runtime": RuntimeName.OPENVINO})
    images = [an_input(*size) for size in (CANVAS, OTHER)]
    path, tolerance = settings.detector_path, 1e-4 if precision is Precision.FLOAT else 0.02
    free = load_model(path, settings, precision)
    expected = [free.run(image)["output0"] for image in images]

    model = load_model(path, settings, precision, [images[0].shape])

    for _ in range(2):
        for image, output in zip(images, expected, strict=True):
            scores = model.run(image)["output0"][:, 4]
            assert np.abs(scores - output[:, 4]).max() < tolerance
    assert is_for_one_size(model, images[0])
    assert not is_for_one_size(model, images[1])


def is_for_one_size(model: Model, image: Tensor) -> bool:
    request = model._request(image.shape)  # type: ignore[attr-defined]
    return not request.get_compiled_model().input().partial_shape.is_dynamic


def an_input(width: int, height: int) -> Tensor:
    """Return noise as an input of the detector."""
    pixels = np.random.default_rng(3).integers(0, 256, (1, height, width, 3))
    return pixels.astype(np.uint8)
