"""The engine that a threshold is chosen with."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from recognition.detection.detector import Detector
from recognition.engine import Recognizer
from recognition.evaluation.photos import LabelledPlate, Photo
from recognition.reading.reader import Reader
from tests.unit.recognition.cards import (
    SaidModel,
    centre_rows,
    detector_card,
    reader_card,
    recognizer_settings,
    slots_of,
)
from tools.training.labels import Labels
from tools.training.threshold import THRESHOLDS, Mistakes, pair_settings, try_thresholds

PLATE = (100.0, 100.0, 200.0, 125.0)
FOUND = (75, 56.25, 50, 12.5, 0.32)
"""Middle, size and score of what is found: just the plate, at half the photo's size."""

SIDE_PX = 640
"""Of the photo: a smaller one may be a close-up, and is looked at again."""


@pytest.fixture
def photo(tmp_path: Path) -> Photo:
    path = tmp_path / "a.png"
    cv2.imwrite(str(path), np.full((SIDE_PX, SIDE_PX, 3), 90, np.uint8))
    plate = LabelledPlate("AB123", False, PLATE, None)
    return Photo("a.png", path, SIDE_PX, SIDE_PX, (plate,), True)


@pytest.fixture
def recognizer() -> Recognizer:
    settings = recognizer_settings(detection_threshold=THRESHOLDS[0])
    finds = SaidModel(lambda _: {"output0": centre_rows(FOUND)})
    reads = SaidModel(lambda batch: {"plate": np.stack([slots_of("AB123")] * len(batch))})
    detector = Detector(detector_card(), finds, settings)
    return Recognizer(settings, (detector, Reader(reader_card(), reads)))


def test_the_pair_is_served_without_a_second_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATESTREAM_RECOGNITION_READER_MODEL", "hub:another")

    settings = pair_settings(Path("d.onnx"), Path("r.onnx"))

    assert (settings.detector_path, settings.reader_path) == (Path("d.onnx"), Path("r.onnx"))
    assert not settings.recognition_second_reader
    assert settings.recognition_detection_threshold == THRESHOLDS[0]


def test_a_threshold_above_its_score_misses_a_plate(photo: Photo, recognizer: Recognizer) -> None:
    labels = {photo.name: Labels(photo.name, (PLATE,), ())}

    costs = try_thresholds([photo], labels, recognizer)

    assert costs[0.3] == Mistakes()
    assert costs[0.35] == Mistakes(missed=1)
