"""Crops of a second folder, for training and for validation."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from tools.training.reader_data import is_held_out, more_samples, sampling_weights

SLOTS = 7
TEXTS = [f"ABC{number}" for number in range(1000, 1060)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [_row("br", text, "br") for text in TEXTS]
    rows += [_row("br", text, "br", synthetic=True, image="drawn") for text in TEXTS]
    rows += [_row("us", "CUST0M", "us-fl"), _row("us", "LONGER12", "us-fl")]
    rows += [_row("us", "UNSURE1", "us-fl", uncertain=True)]
    (tmp_path / "crops.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for row in rows:
        path = tmp_path / str(row["image"])
        path.parent.mkdir(exist_ok=True)
        cv2.imwrite(str(path), np.full((20, 40, 3), 90, np.uint8))
    return tmp_path


def test_a_fifth_of_the_plates_is_held_out_with_its_drawn_images(folder: Path) -> None:
    samples = more_samples(folder, SLOTS, held_out=True)
    kept = {one.text for one in samples}
    learnt = {one.text for one in more_samples(folder, SLOTS, held_out=False)}
    assert not kept & learnt
    assert 0.1 < len(kept & set(TEXTS)) / len(TEXTS) < 0.3
    assert {text for text in TEXTS if is_held_out(text)} <= kept
    assert "drawn" not in {one.group for one in samples}


def test_only_certain_texts_that_fit_the_reader_are_learned_from(folder: Path) -> None:
    texts = {
        one.text for held in (True, False) for one in more_samples(folder, SLOTS, held_out=held)
    }
    assert texts == {*TEXTS, "CUST0M"}
    assert more_samples(None, SLOTS, held_out=False) == []


def test_a_sample_is_the_whole_image_and_drawn_ones_are_less_frequent(folder: Path) -> None:
    samples = more_samples(folder, SLOTS, held_out=False)
    assert {one.box for one in samples} == {(0.0, 0.0, 40.0, 20.0)}
    weights = dict(zip([one.group for one in samples], sampling_weights(samples), strict=True))
    assert weights["drawn"] < weights["br"]


def test_american_labels_write_0_for_o_too(folder: Path) -> None:
    samples = [one for held in (True, False) for one in more_samples(folder, SLOTS, held_out=held)]
    assert {one.text for one in samples if one.alike} == {"CUST0M"}


def _row(
    part: str,
    text: str,
    region: str,
    *,
    synthetic: bool = False,
    uncertain: bool = False,
    image: str = "photo",
) -> dict[str, object]:
    return {
        "image": f"{part}/{text}_{image}.jpg",
        "text": text,
        "uncertain": uncertain,
        "region": region,
        "synthetic": synthetic,
    }
