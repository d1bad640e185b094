"""Crops of a second folder: what is learned from, what is kept back, and how it is counted."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from tools.training.more_crops import (
    MoreCrop,
    gains,
    kept_back,
    load_more_crops,
    more_samples,
    right_by_part,
)
from tools.training.reader_data import is_held_out, sampling_weights

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


def test_a_fifth_of_the_plates_is_kept_back_and_what_is_drawn_of_them_too(folder: Path) -> None:
    kept = {one.text for one in kept_back(folder)}
    learnt = {one.text for one in more_samples(folder, SLOTS, held_out=False)}
    assert not kept & learnt
    assert 0.1 < len(kept & set(TEXTS)) / len(TEXTS) < 0.3
    assert {text for text in TEXTS if is_held_out(text)} <= kept
    assert all(not one.drawn for one in kept_back(folder))


def test_only_certain_texts_that_fit_the_reader_are_learned_from(folder: Path) -> None:
    texts = {
        one.text for held in (True, False) for one in more_samples(folder, SLOTS, held_out=held)
    }
    assert texts == {*TEXTS, "CUST0M"}
    assert more_samples(None, SLOTS, held_out=False) == []


def test_a_sample_is_its_whole_picture_and_drawn_ones_come_less_often(folder: Path) -> None:
    samples = more_samples(folder, SLOTS, held_out=False)
    assert {one.box for one in samples} == {(0.0, 0.0, 40.0, 20.0)}
    weights = dict(zip([one.group for one in samples], sampling_weights(samples), strict=True))
    assert weights["drawn"] < weights["br"]


def test_either_of_o_and_0_is_right_where_labels_say_0_for_both(folder: Path) -> None:
    crops = {one.text: one for one in load_more_crops(folder)}
    assert crops["CUST0M"].alike and not crops[TEXTS[0]].alike
    assert crops["CUST0M"].is_right("CUSTOM") and crops["CUST0M"].is_right("CUST0M")
    assert not crops["CUST0M"].is_right("CUSTQM")
    assert not crops[TEXTS[0]].is_right("ABC1OOO")


def test_what_is_read_is_counted_by_part_and_gains_by_plate() -> None:
    names = ("br/1.jpg", "br/2.jpg", "us/1.jpg")
    crops = [MoreCrop(name, Path(name), "AB12", drawn=False, alike=False) for name in names]
    before, after = dict.fromkeys(names, ""), dict.fromkeys(names[:2], "AB12") | {names[2]: ""}
    assert right_by_part(crops, after) == {"br": (2, 2), "us": (0, 1)}
    assert list(gains(crops, before, after)) == [
        "br: +100.0 points, 95 % from +100.0 to +100.0",
        "us: +0.0 points, 95 % from +0.0 to +0.0",
    ]


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
