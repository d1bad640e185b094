"""The whole engine processes tiny, flat and tall images with little work and without an error."""

import numpy as np
import pytest

from common.records.frames import Box
from recognition.analysis_hints import AnalysisHints
from recognition.detection.detector import Detector
from recognition.engine import Recognizer
from recognition.models.runtime import Tensor
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage
from recognition.workers.protocol import Job
from recognition.workers.worker import read_image_files
from tests.odd_images import STRIP_SIZES, TINY_SIZES, files_of_every_kind, noise
from tools.synthetic.layouts import BY_CODE
from tools.synthetic.plates import random_plate

pytestmark = pytest.mark.integration

LARGE_STRIPS = ((10_000, 6), (10_000, 100), (100, 10_000), (16, 10_000), (16, 6), (9_000, 40))
FULL_HD_INPUT_PX = 640 * 384
"""Size of the detector's input for a 1080p frame."""


@pytest.fixture(scope="module")
def engine() -> Recognizer:
    return Recognizer(RecognizerSettings.model_validate({"recognition_precision": "int8"}))


@pytest.mark.parametrize("size", [*TINY_SIZES, *STRIP_SIZES])
def test_an_image_too_small_for_a_plate_has_none(engine: Recognizer, size: tuple[int, int]) -> None:
    files = files_of_every_kind(*size)
    outcomes = read_image_files(engine, [Job(image=data) for data in files.values()])
    for name, outcome in zip(files, outcomes, strict=True):
        assert (outcome.error_code, outcome.readings) == (None, ()), name
        assert sorted((outcome.width_px, outcome.height_px)) == sorted(size), name


@pytest.mark.parametrize("size", LARGE_STRIPS)
@pytest.mark.parametrize("kind", ["noise", "flat", "plate"])
def test_a_strip_costs_no_more_than_two_frames(
    engine: Recognizer, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], kind: str
) -> None:
    searched_px = 0
    run = Detector._run

    def count(detector: Detector, images: list[BgrImage]) -> Tensor:
        nonlocal searched_px
        searched_px += sum(image.shape[0] * image.shape[1] for image in images)
        return run(detector, images)

    monkeypatch.setattr(Detector, "_run", count)
    engine.recognize(_drawn(kind, *size))
    assert searched_px <= 2 * FULL_HD_INPUT_PX


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (1, 100), (16, 6), (40, 12), (12, 40)])
def test_places_of_a_larger_frame_are_no_error_in_a_tiny_one(
    engine: Recognizer, size: tuple[int, int]
) -> None:
    width, height = size
    places = (
        Box(x=900, y=500, width=120, height=30),
        Box(x=width - 0.3, y=height - 0.3, width=0.2, height=0.2),
        Box(x=0, y=0, width=0, height=0),
    )
    hints = [AnalysisHints(known=(one,), others=places) for one in places]
    image = _drawn("plate", *size)
    engine.find_all([image] * len(hints), [0] * len(hints), hints)


def _drawn(kind: str, width: int, height: int) -> BgrImage:
    match kind:
        case "noise":
            return noise(width, height)
        case "flat":
            return np.full((height, width, 3), 90, np.uint8)
    plate = random_plate(np.random.default_rng(2), BY_CODE["it"]).image
    return np.resize(plate, (height, width, 3))
