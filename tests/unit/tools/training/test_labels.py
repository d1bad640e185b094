"""The labels of a photo, derived from the teacher model's detections."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from recognition.evaluation.photos import LabelledPlate, Photo
from recognition.settings import MODELS
from recognition.types import Box, Detection
from tools.training import labels
from tools.training.labels import complete

OWN = (100.0, 100.0, 200.0, 140.0)
OTHER = (400.0, 300.0, 460.0, 320.0)
FAR = (10.0, 10.0, 30.0, 18.0)


def photo(exhaustive: bool) -> Photo:
    return Photo("a", Path("a"), 640, 480, (LabelledPlate("AB", False, OWN, None),), exhaustive)


def find(box: Box, score: float) -> Detection:
    return Detection(*box, score, "plate")


def test_sure_finds_are_taught_and_uncertain_ones_masked() -> None:
    found = complete(photo(False), [find(OWN, 0.9), find(OTHER, 0.7), find(FAR, 0.2)])
    assert found.plates == (OWN, OTHER)
    assert found.masked == (FAR,)


def test_where_every_plate_is_boxed_the_teacher_adds_nothing() -> None:
    found = complete(photo(True), [find(OTHER, 0.7), find(FAR, 0.2)])
    assert (found.plates, found.masked) == ((OWN,), ())


def test_a_find_around_a_boxed_plate_is_that_plate() -> None:
    around = (60.0, 80.0, 240.0, 170.0)
    assert complete(photo(False), [find(around, 0.6)]).plates == (OWN,)


def labels_of(folder: Path, monkeypatch: pytest.MonkeyPatch, *given: str) -> list[str]:
    """Return the photos in ``labels.jsonl`` after a run of the command."""
    row = {"image": "a.jpg", "split": "train", "plates": [{"text": "AB", "box": OWN}]}
    rows = [row, row | {"image": "b.jpg", "split": "val"}]
    (folder / "scenes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    out = folder / "labels.jsonl"
    monkeypatch.setattr(sys, "argv", ["x", "--photos", str(folder), "--out", str(out), *given])
    labels.main()
    return [json.loads(line)["photo"] for line in out.read_text().splitlines()]


def test_what_was_interrupted_goes_on_after_the_last_whole_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert labels_of(tmp_path, monkeypatch) == ["a.jpg", "b.jpg"]
    out = tmp_path / "labels.jsonl"
    first, second = out.read_text().splitlines(keepends=True)
    for half in (first + second[:20], first[:20], ""):
        out.write_text(half)
        assert labels_of(tmp_path, monkeypatch) == ["a.jpg", "b.jpg"]
        assert out.read_text() == first + second


def test_labels_of_another_teacher_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    labels_of(tmp_path, monkeypatch)
    teacher = MODELS / "plate-detector.onnx"
    with pytest.raises(SystemExit):
        labels_of(tmp_path, monkeypatch, "--teacher", str(teacher))
    assert "was created with another teacher" in capsys.readouterr().err


def test_a_teacher_is_a_detector_that_the_engine_knows() -> None:
    named = argparse.Namespace(teacher=MODELS / "plate-detector.onnx", teacher_size=416, threads=1)
    image = np.zeros((90, 160, 3), np.uint8)
    assert labels.load_teacher(named).search(image, 0.9) == []
