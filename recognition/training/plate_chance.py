"""Fits how likely what is found and read is a plate at all, and writes it into the detector's card.

    python -m recognition.training.plate_chance --photos DIR --labels labels.jsonl

Signs, adverts and names of makers are found now and then, and read as surely as a plate. They score
lower than plates, and many have no digit. Takes the engine as it is served, but from a score of 0.1
on, so that unsure finds count too, and the training photos (both kinds are known to the detector
from them): what meets a label is a plate, what meets neither that nor a doubtful place is none.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np

from contracts.readings import PlateReading
from recognition.boxes import Box, iou
from recognition.detector import Detector
from recognition.engine import Recognizer
from recognition.evaluation.photos import load_photos
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from recognition.training.calibration import Curve, fit_logistic, logit
from recognition.training.cards import change_cards
from recognition.training.labels import Labels, load_labels

MEETS_IOU = 0.1
LEAST_SCORE = 0.1


class Read(NamedTuple):
    """A reading that the engine reports: the detector's score, and what it is."""

    score: float
    letters_alone: bool
    is_plate: bool


class Chance(NamedTuple):
    """The curves from the score to the chance, by what the text is made of."""

    letters_alone: Curve
    others: Curve


def judged(reading: PlateReading, labels: Labels) -> Read | None:
    """A reading of a photo with these labels; None where nobody knows what is there."""
    box = reading.box
    found = (box.x, box.y, box.x + box.width, box.y + box.height)
    is_plate = _meets(found, labels.plates)
    if not is_plate and _meets(found, labels.masked):
        return None
    return Read(reading.detection_confidence, reading.text.isalpha(), is_plate)


def fitted(rows: list[Read]) -> Chance:
    """The most likely curves; both rise alike with the score."""
    scores = logit(np.array([row.score for row in rows]))
    letters = np.array([row.letters_alone for row in rows], np.float64)
    features = np.stack([scores, np.ones(len(rows)), letters], axis=1)
    slope, offset, of_letters = fit_logistic(
        features, [row.is_plate for row in rows], np.array([1.0, 3.0, 0.0])
    )
    return Chance(Curve(slope, offset + of_letters), Curve(slope, offset))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--labels", type=Path, required=True)
    args = parser.parse_args()
    settings = RecognizerSettings.model_validate({"recognition_detection_threshold": LEAST_SCORE})
    detector = Detector.load(settings)
    detector.plate_chance = None  # what is measured must not depend on the last one
    recognizer, labels = Recognizer(settings, detector), load_labels(args.labels)
    rows: list[Read] = []
    for photo in load_photos(args.photos, "train"):
        readings = recognizer.read(decode_image(photo.path.read_bytes()))
        rows += filter(None, (judged(reading, labels[photo.name]) for reading in readings))
    chance = fitted(rows)
    others = sum(not row.is_plate for row in rows)
    print(f"{len(rows)} readings, {others} of what is no plate: {chance}")
    curves = {name: curve.as_card() for name, curve in chance._asdict().items()}
    change_cards(settings.detector_path, {"plate_chance": curves})


def _meets(found: Box, boxes: tuple[Box, ...]) -> bool:
    return any(iou(found, box) > MEETS_IOU for box in boxes)


if __name__ == "__main__":
    main()
