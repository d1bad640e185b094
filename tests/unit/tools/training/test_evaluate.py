"""The engine that a pair of models is measured with, and a threshold is chosen with."""

from argparse import Namespace
from pathlib import Path

import cv2
import numpy as np
import pytest

from recognition.detection.detector import Detector
from recognition.engine import Recognizer
from recognition.reading.reader import Reader
from recognition.settings import RuntimeName
from tests.unit.recognition.cards import (
    SaidModel,
    centre_rows,
    detector_card,
    reader_card,
    recognizer_settings,
    slots_of,
)
from tools.evaluation.photos import Photo, Plate
from tools.training.evaluate import measure, pair_settings
from tools.training.labels import Labels
from tools.training.threshold import THRESHOLDS, Mistakes, try_thresholds

PLATE = (100.0, 100.0, 200.0, 125.0)
FOUND = (75, 56.25, 50, 12.5, 0.32)
"""Middle, size and score of what is found: just the plate, at half the photo's size."""

SIDE_PX = 640
"""Of the photo: a smaller one may be a close-up, and is looked at again."""


@pytest.fixture
def photo(tmp_path: Path) -> Photo:
    path = tmp_path / "a.png"
    cv2.imwrite(str(path), np.full((SIDE_PX, SIDE_PX, 3), 90, np.uint8))
    plate = Plate("AB123", False, PLATE, None)
    return Photo("a.png", path, SIDE_PX, SIDE_PX, (plate,), True)


@pytest.fixture
def recognizer() -> Recognizer:
    settings = recognizer_settings(detection_threshold=THRESHOLDS[0])
    finds = SaidModel(lambda _: {"output0": centre_rows(FOUND)})
    reads = SaidModel(lambda batch: {"plate": np.stack([slots_of("AB123")] * len(batch))})
    detector = Detector(detector_card(), finds, settings)
    return Recognizer(settings, (detector, Reader(reader_card(), reads)))


def test_the_pair_is_served_without_a_second_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATESTREAM_RECOGNITION_READER_HUB_MODEL", "another")
    named = Namespace(
        detector=Path("d.onnx"), reader=Path("r.onnx"), size=None, runtime=RuntimeName.ONNXRUNTIME
    )

    settings = pair_settings(named, 0.2)

    assert (settings.detector_path, settings.reader_path) == (Path("d.onnx"), Path("r.onnx"))
    assert settings.recognition_reader_hub_model is None
    assert not settings.recognition_second_reader
    assert settings.recognition_runtime is RuntimeName.ONNXRUNTIME
    assert settings.recognition_detection_threshold == 0.2


def test_figures_and_predictions_are_of_all_that_is_read(
    photo: Photo, recognizer: Recognizer, tmp_path: Path
) -> None:
    figures = measure([photo], recognizer, tmp_path / "said.jsonl")

    assert (figures["photos"], figures["detected"], figures["exact"]) == (1, 1.0, 1.0)
    assert figures["cpu_ms_a_photo"] >= 0
    assert '"text": "AB123"' in (tmp_path / "said.jsonl").read_text()


def test_a_threshold_above_its_score_misses_a_plate(photo: Photo, recognizer: Recognizer) -> None:
    labels = {photo.name: Labels(photo.name, (PLATE,), ())}

    costs = try_thresholds([photo], labels, recognizer)

    assert costs[0.3] == Mistakes()
    assert costs[0.35] == Mistakes(missed=1)
