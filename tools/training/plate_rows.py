"""Fits the classifier of two-row plates, and writes ``recognition/models/plate-rows.json``.

    python -m tools.training.plate_rows --photos DIR

``plate_rows.jsonl`` contains manual labels of plates less than 2.4 times as wide as high: photo,
index of the plate and number of rows. The classifier is trained with the plates in training photos,
each with four additional, slightly moved boxes, and tested with the plates in ``val``.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from recognition.evaluation.photos import Photo
from recognition.images import decode_image
from recognition.reading.row_classifier import (
    FEATURE_COUNT,
    RowClassifier,
    RowClassifierCard,
    stroke_profile,
)
from recognition.settings import MODELS
from recognition.types import BgrImage, Detection
from tools.training.calibration import fit_logistic
from tools.training.cards import as_json
from tools.training.photos import load_photos

LABELS = Path(__file__).with_suffix(".jsonl")
WIDEST, LEAST_WIDTH_PX = 2.4, 30.0
JITTERED, JITTER = 4, (-0.04, 0.06)
RIDGE = 0.01
"""Ridge penalty relative to the mean loss. With 0.003 to 0.03, ``val`` has 3 to 7 errors."""


class Seen(NamedTuple):
    """A plate with a manually labelled number of rows."""

    image: BgrImage
    box: Detection
    has_two: bool


def seen_plates(photos: dict[str, Photo]) -> Iterator[Seen]:
    """Yield the plates with manual labels in ``photos``."""
    for line in LABELS.read_text().splitlines():
        row = json.loads(line)
        if photo := photos.get(row["image"]):
            left, top, right, bottom = photo.plates[row["plate"]].box
            box = Detection(left, top, right, bottom, 1.0, "plate")
            yield Seen(decode_image(photo.path.read_bytes()), box, row["rows"] == 2)


def fitted(plates: list[Seen], rng: np.random.Generator) -> RowClassifierCard:
    """Return the model card with the weights that classify ``plates`` best."""
    rows, two = [], []
    for plate in plates:
        boxes = [plate.box, *(_beside(plate.box, rng) for _ in range(JITTERED))]
        rows += [stroke_profile(plate.image, box) for box in boxes]
        two += [plate.has_two] * len(boxes)
    features = np.array(rows)
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    mean[0], spread[0] = 0.0, 1.0
    ridge = RIDGE * len(two)
    weights = np.array(
        fit_logistic((features - mean) / spread, two, np.zeros(FEATURE_COUNT), ridge=ridge)
    )
    weights /= spread
    weights[0] -= weights @ mean
    rounded = tuple(round(float(w), 5) for w in weights)
    return RowClassifierCard(weights=rounded, widest=WIDEST, least_width_px=LEAST_WIDTH_PX)


def main() -> None:
    """Fit the classifier, print the results on ``val``, and write the model card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    args = parser.parse_args()
    learnt, unseen = (
        list(seen_plates({photo.name: photo for photo in load_photos(args.photos, split)}))
        for split in ("train", "val")
    )
    card = fitted(learnt, np.random.default_rng(0))
    pairs = [(RowClassifier(card).has_two_rows(one.image, one.box), one.has_two) for one in unseen]
    right = sum(said and two for said, two in pairs)
    accuracy = {
        "learnt_from": f"{len(learnt)} plates, {sum(one.has_two for one in learnt)} of two rows",
        "val": f"{len(pairs)} plates, {sum(two for _, two in pairs)} of two rows: {right} of these "
        f"recognised, and {sum(said and not two for said, two in pairs)} of one row taken for two",
    }
    print(accuracy)
    fields = {field: getattr(card, field) for field in card.__struct_fields__}
    text = as_json({"summary": SUMMARY, "accuracy": accuracy, **fields})
    (MODELS / "plate-rows.json").write_text(text + "\n")


SUMMARY = (
    "Recognises plates of two rows by their strokes (recognition/reading/row_classifier.py). "
    "Fitted on photos of open_lpr, kaggle433 and openimages_rf (for their licences, see "
    "plate-detector.json) with manually labelled rows. Licence: AGPL-3.0-only, as the project's."
)


def _beside(box: Detection, rng: np.random.Generator) -> Detection:
    left, top, right, bottom = rng.uniform(*JITTER, 4)
    width, height = box.width_px, box.height_px
    edges = (
        box.left - left * width,
        box.top - top * height,
        box.right + right * width,
        box.bottom + bottom * height,
    )
    return Detection(*edges, box.score, box.kind)


if __name__ == "__main__":
    main()
