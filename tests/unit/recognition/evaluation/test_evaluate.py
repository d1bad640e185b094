"""A whole evaluation with models of known results: its figures and its page."""

import json
from dataclasses import asdict
from pathlib import Path

import cv2
import numpy as np
import pytest

from common.errors import InvalidInputError
from recognition.evaluation.evaluate import PhotoResult, evaluate, write_predictions
from recognition.evaluation.photos import load_photo_file
from recognition.evaluation.report import Miss, as_text, misses, write_report
from recognition.evaluation.summary import calibration_error, reliability, summarise
from tests.unit.recognition.test_engine import recognizer

# Box that the first model returns: centre (50, 150), 60 by 20 pixels.
SEEN = [20, 140, 80, 160]


def photo_file(folder: Path, *texts: str) -> Path:
    lines = []
    for index, text in enumerate(texts):
        cv2.imwrite(str(folder / f"{index}.png"), np.full((320, 320, 3), 90, np.uint8))
        plates = [{"text": text, "box": SEEN}]
        row = {"image": f"{index}.png", "plates": plates, "split": "val", "exhaustive": True}
        lines.append(json.dumps(row) + "\n")
    path = folder / "photos.jsonl"
    path.write_text("".join(lines))
    return path


def evaluated(*photos: str, folder: Path) -> tuple[list[PhotoResult], list[Miss]]:
    pairs = [*evaluate(load_photo_file(photo_file(folder, *photos)), recognizer("AB123CD"))]
    return [result for result, _ in pairs], [miss for pair in pairs for miss in misses(*pair)]


def test_figures_count_right_and_wrong(tmp_path: Path) -> None:
    summary = summarise(evaluated("AB123CD", "AB123CO", "AB<B>", folder=tmp_path)[0])
    assert (summary.photos, summary.plates, summary.certain) == (3, 3, 3)
    assert summary.detected.value == 1.0
    assert summary.exact.value == pytest.approx(1 / 3)
    assert summary.exact.low <= summary.exact.value <= summary.exact.high
    assert (summary.invented, summary.false_alarms, summary.exhaustive_photos) == (0, 0, 3)
    assert summary.calibration_error == pytest.approx(0.9 - 1 / 3, abs=1e-3)
    assert "exact 33.3 %" in as_text(summary)
    assert json.loads(json.dumps(asdict(summary)))["plates"] == 3


def test_the_page_shows_each_miss_and_trusts_no_text(tmp_path: Path) -> None:
    results, found = evaluated("AB123CD", "AB123CO", "AB<B>", folder=tmp_path)
    write_report(tmp_path / "r.html", "photos", summarise(results), found)
    page = (tmp_path / "r.html").read_text()
    assert page.count("data:image/jpeg;base64,") == 2
    assert "AB&lt;B&gt;" in page
    assert "AB<B>" not in page
    assert "wrong text: 2" in page


def test_predictions_are_one_photo_a_line(tmp_path: Path) -> None:
    results, _ = evaluated("AB123CD", "AB123CO", "AB<B>", folder=tmp_path)
    write_predictions(tmp_path / "p.jsonl", results)
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [row["image"] for row in rows] == ["0.png", "1.png", "2.png"]
    assert rows[0]["plates"][0]["text"] == "AB123CD"


@pytest.mark.parametrize("line", ["nothing", "[]", '{"image": "a.jpg"}', '{"plates": []}'])
def test_a_file_that_is_no_list_of_photos_is_reported(line: str, tmp_path: Path) -> None:
    path = tmp_path / "photos.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InvalidInputError, match="not a photo list"):
        load_photo_file(path)


def test_reliability_puts_certainty_into_the_last_class() -> None:
    (low, high) = reliability([(0.1, False), (1.0, True), (0.95, True)])
    assert (low.count, high.count, high.right) == (1, 2, 1.0)


def test_a_list_may_have_gaps_and_labels_their_own_spelling(tmp_path: Path) -> None:
    path = photo_file(tmp_path, "ab-123 cd")
    bare = [{"image": "0.png", "plates": []}, {"image": "0.png", "plates": [{"box": SEEN}]}]
    lines = "".join(json.dumps(row) + "\n\n" for row in bare)
    path.write_text("\ufeff" + path.read_text() + lines + "\n", encoding="utf-8")

    first, second, third = load_photo_file(path)
    assert first.plates[0].text == "AB123CD"
    assert second.plates == ()
    assert third.plates[0].text == ""


def test_a_file_that_is_no_image_costs_its_own_plates_only(tmp_path: Path) -> None:
    photos = load_photo_file(photo_file(tmp_path, "AB123CD", "AB123CD"))
    (tmp_path / "1.png").write_bytes(b"RIFF....WEBP")
    pairs = [*evaluate(photos, recognizer("AB123CD"))]
    results = [result for result, _ in pairs]
    found = [miss for pair in pairs for miss in misses(*pair)]
    summary = summarise(results)

    assert (summary.plates, summary.exact.value) == (2, 0.5)
    assert [bool(one.refused) for one in results] == [False, True]
    assert [(miss.photo, miss.kind) for miss in found] == [("1.png", "not found")]


def test_calibration_error_weighs_bins_by_their_size() -> None:
    pairs = [(0.95, True)] * 3 + [(0.55, False)]
    assert calibration_error(pairs) == pytest.approx(0.75 * 0.05 + 0.25 * 0.55)
    assert calibration_error([]) == 0.0
