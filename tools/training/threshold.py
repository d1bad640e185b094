"""Chooses the detector's score threshold by what its mistakes cost.

``python -m tools.training.threshold --photos DIR --labels labels.jsonl --detector FILE.onnx
--reader FILE.onnx`` tries thresholds on the training photos that were kept back, prints what each
costs and writes the cheapest into the detector's card.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

from recognition.engine import Recognizer
from recognition.evaluation.evaluate import prediction_of
from recognition.evaluation.outcomes import DETECTED_IOU, Prediction
from recognition.evaluation.photos import Photo
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from recognition.types import iou
from tools.training.cards import change_cards
from tools.training.detector_data import kept_back
from tools.training.labels import Labels, load_labels
from tools.training.photos import load_photos

THRESHOLDS = (0.03, *(round(0.05 * step, 2) for step in range(1, 14)))

MISSED_COST, INVENTED_COST = 1.0, 3.0
"""A vehicle missed in one frame is in the next ones too; a plate that never was stays listed."""

NO_PLATE_IOU = 0.2
REPORTED_CONFIDENCE, REPORTED_CHARACTERS = 0.3, 4
"""The least of a reported reading here; the engine reports shorter ones too by default."""


@dataclass(frozen=True)
class Mistakes:
    """Boxed plates that were not found, and reported readings where no plate may be."""

    missed: int = 0
    invented: int = 0

    @property
    def cost(self) -> float:
        """Both kinds, weighed."""
        return MISSED_COST * self.missed + INVENTED_COST * self.invented

    def __add__(self, other: "Mistakes") -> "Mistakes":
        return Mistakes(self.missed + other.missed, self.invented + other.invented)


def mistakes(photo: Photo, labels: Labels, said: list[Prediction]) -> Mistakes:
    """What is wrong in ``said`` of one photo."""
    missed = sum(all(iou(s.box, p.box) < DETECTED_IOU for s in said) for p in photo.plates)
    perhaps = labels.plates + labels.masked
    reported = (
        s
        for s in said
        if s.confidence >= REPORTED_CONFIDENCE and len(s.text) >= REPORTED_CHARACTERS
    )
    invented = sum(all(iou(s.box, box) < NO_PLATE_IOU for box in perhaps) for s in reported)
    return Mistakes(missed, invented)


def cheapest(costs: dict[float, Mistakes]) -> float:
    """The threshold of least cost; of equals, the highest."""
    return max(costs, key=lambda threshold: (-costs[threshold].cost, threshold))


def try_thresholds(
    photos: list[Photo], labels: dict[str, Labels], recognizer: Recognizer
) -> dict[float, Mistakes]:
    """Mistakes on ``photos`` by threshold; the recogniser has the lowest of them."""
    costs = dict.fromkeys(THRESHOLDS, Mistakes())
    for photo in photos:
        readings = recognizer.detect_and_read(decode_image(photo.path.read_bytes()))
        for threshold in THRESHOLDS:
            said = [prediction_of(one) for one in readings if one.detection_confidence >= threshold]
            costs[threshold] += mistakes(photo, labels[photo.name], said)
    return costs


def pair_settings(detector: Path, reader: Path) -> RecognizerSettings:
    """The settings of an engine with a pair of models, without a second reader."""
    given = {
        "recognition_detector_model": detector,
        "recognition_detection_threshold": THRESHOLDS[0],
        "recognition_reader_model": str(reader),
        "recognition_second_reader": False,
    }
    return RecognizerSettings.model_validate(given)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--labels", type=Path, required=True)
    parser.add_argument("--detector", type=Path, required=True, help="ONNX with a card beside it")
    parser.add_argument("--reader", type=Path, required=True, help="ONNX with a card beside it")
    args = parser.parse_args()
    recognizer = Recognizer(pair_settings(args.detector, args.reader))
    photos = [p for p in load_photos(args.photos, "train") if kept_back(p)]
    costs = try_thresholds(photos, load_labels(args.labels), recognizer)
    for threshold, found in costs.items():
        print(f"{threshold:.2f}: missed {found.missed}, invented {found.invented}")
    change_cards(args.detector, {"output": {"score_threshold": cheapest(costs)}})
    print(f"{len(photos)} photos kept back; chosen: {cheapest(costs)}")


if __name__ == "__main__":
    main()
