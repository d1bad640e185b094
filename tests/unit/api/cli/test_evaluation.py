"""``platestream evaluate`` on one drawn photo, with the bundled models."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from api.cli.app import app
from tools.synthetic.layouts import BY_CODE
from tools.synthetic.plates import plate_with_text

TEXT = "SH350AZ"
BOX = [420, 400, 620, 442]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    image = np.full((720, 1040, 3), 120, np.uint8)
    cv2.rectangle(image, (280, 180), (760, 490), (45, 40, 40), -1)
    plate = plate_with_text(BY_CODE["it"], TEXT, np.random.default_rng(1)).image
    image[400:442, 420:620] = cv2.resize(plate, (200, 42), interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(tmp_path / "car.png"), image)
    row = {"image": "car.png", "split": "val", "plates": [{"text": TEXT, "box": BOX}]}
    (tmp_path / "photos.jsonl").write_text(json.dumps(row) + "\n")
    return tmp_path / "photos.jsonl"


def test_figures_predictions_and_page(photos: Path, tmp_path: Path) -> None:
    page, predictions = tmp_path / "page.html", tmp_path / "said.jsonl"
    options = ["--split", "val", "--report", str(page), "--predictions", str(predictions), "--json"]
    done = CliRunner().invoke(app, ["evaluate", str(photos), *options])
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert (figures["photos"], figures["detected"]["value"], figures["exact"]["value"]) == (1, 1, 1)
    assert json.loads(predictions.read_text())["plates"][0]["text"] == TEXT
    assert "exact 100.0 %" in page.read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--split", "none"], "no photos of this split"),
        (["--detector", "missing.onnx"], "missing.onnx"),
        (["--reader", "missing.pt"], "missing.pt"),
    ],
)
def test_what_cannot_work_is_a_line_and_status_1(
    photos: Path, options: list[str], words: str
) -> None:
    done = CliRunner().invoke(app, ["evaluate", str(photos), *options])
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert "Traceback" not in done.output


def test_a_missing_photo_is_reported(photos: Path) -> None:
    photos.with_name("car.png").unlink()
    done = CliRunner().invoke(app, ["evaluate", str(photos)])
    assert (done.exit_code, "car.png" in done.stderr) == (1, True)
