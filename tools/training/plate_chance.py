"""Fits the probability that a detection is a plate, and writes it to the detector's card.

    python -m tools.training.plate_chance --photos DIR --labels labels.jsonl --others DIR

Signs, adverts and buttons are sometimes detected, and then read as confidently as plates. The
engine runs with a low detection threshold, so that uncertain detections are included. The positives
are plates in photos with a plate held out from the readers: unchanged, small, close and rotated.
The negatives are detections on training photos that overlap neither a label nor a doubtful plate,
and all detections on images without plates on which the detector was not trained
(``other_pictures``). Each kind of negative has half the weight of the views of plates.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import cv2
import msgspec
import numpy as np
import numpy.typing as npt

from recognition.detection.detector import Detector
from recognition.engine import Recognizer
from recognition.evaluation.photos import Photo
from recognition.images import decode_image
from recognition.models.model_card import PlateProbabilityCard
from recognition.reading.confidence import PlateFeatures, feature_vector
from recognition.reading.plate_reading import plate_features
from recognition.reading.reader import Plate, Reader
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage, Box, iou
from tools.training.calibration import fit_logistic
from tools.training.cards import change_cards
from tools.training.labels import Labels, load_labels
from tools.training.other_pictures import Half, half_of
from tools.training.photos import as_image, load_photos
from tools.training.reader_data import is_held_out

MEETS_IOU, IS_IOU = 0.1, 0.3
"""IoU up to which two boxes are separate, and IoU from which two boxes show the same plate."""

OTHERS_COUNT = 0.5
"""Weight of all detections next to plates, and of all detections on images without plates, relative
to the views of plates. A higher weight means fewer false plates, but a lower confidence of real
plates (HISTORY.md). Also, some detections next to plates are unlabelled plates."""

LEAST_SCORE, LEAST_CHARACTERS = 0.02, 2
"""Limits below the default thresholds, because settings can lower the thresholds."""

RIDGE = 0.3
"""Ridge penalty, which keeps the weights of rare features (texts of three characters) near 0."""

SMALLER, AROUND, DEGREES = (0.4, 0.7), (0.03, 0.08, 0.15, 0.3, 0.5, 1.0), 8.0
"""Size range, margins (fractions of the plate's width) and rotation (degrees) of the views."""


class View(NamedTuple):
    """An image, and the boxes of the plates in the image."""

    image: BgrImage
    plates: tuple[Box, ...]


class Row(NamedTuple):
    """The features of a detection, whether the detection is a plate, and the row's weight."""

    signs: PlateFeatures
    is_plate: bool
    weight: float


class FeatureFinder:
    """Finds the features of detections with an engine that has no fitted plate probability."""

    def __init__(self, settings: RecognizerSettings) -> None:
        """Load the configured models."""
        detector = Detector.load(settings)
        detector.plate_probability_card = None  # the new fit must not depend on the previous fit
        self._reader = Reader.load(settings)
        self._engine = Recognizer(settings, (detector, self._reader))

    def finds(self, image: BgrImage) -> Iterator[tuple[Box, PlateFeatures]]:
        """Yield the box and features of each plate read in an image."""
        plates = [Plate(image, one) for one in self._engine.detect(image)]
        for plate, text in zip(plates, self._reader.read_all(plates), strict=True):
            if len(text.text) >= LEAST_CHARACTERS:
                yield plate.found.box, plate_features(plate, text)


def views(image: BgrImage, plates: tuple[Box, ...], rng: np.random.Generator) -> Iterator[View]:
    """Yield a photo unchanged, smaller and rotated, and crops of the plates."""
    yield View(image, plates)
    scale = float(rng.uniform(*SMALLER))
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    yield View(as_image(small), tuple(_scaled(box, scale) for box in plates))
    height, width = image.shape[:2]
    degrees = float(rng.choice([-DEGREES, DEGREES]))
    turn = np.asarray(cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0), np.float64)
    turned = cv2.warpAffine(image, turn, (width, height), borderMode=cv2.BORDER_REFLECT)
    yield View(as_image(turned), tuple(_turned(box, turn) for box in plates))
    for left, top, right, bottom in plates:
        around = float(rng.choice(AROUND)) * (right - left)
        x, y = max(0, int(left - around)), max(0, int(top - around))
        part = image[y : int(bottom + around), x : int(right + around)]
        yield View(np.ascontiguousarray(part), ((left - x, top - y, right - x, bottom - y),))


def of_plates(
    photo: Photo, finder: FeatureFinder, rng: np.random.Generator
) -> list[list[PlateFeatures]]:
    """Return the features of plates found in each view, or [] if a photo has no held-out plate."""
    certain = [p.text for p in photo.plates if p.text and not p.uncertain]
    if not any(map(is_held_out, certain)):
        return []
    image, plates = decode_image(photo.path.read_bytes()), tuple(p.box for p in photo.plates)
    return [
        [
            signs
            for box, signs in finder.finds(view.image)
            if any(iou(box, plate) >= IS_IOU for plate in view.plates)
        ]
        for view in views(image, plates, rng)
    ]


def of_no_plates(photo: Photo, labels: Labels, finder: FeatureFinder) -> list[PlateFeatures]:
    """Return the features of the detections in a photo that are not plates."""
    perhaps = labels.plates + labels.masked
    found = finder.finds(decode_image(photo.path.read_bytes()))
    return [s for box, s in found if not any(iou(box, one) > MEETS_IOU for one in perhaps)]


def counted(found: list[list[PlateFeatures]], are_plates: bool, weight: float) -> list[Row]:
    """Return the features of all images as rows with the same label and weight."""
    return [Row(signs, are_plates, weight) for picture in found for signs in picture]


def fitted(rows: list[Row]) -> PlateProbabilityCard:
    """Return the card with the maximum-likelihood weights."""
    features = np.array([feature_vector(row.signs) for row in rows])
    start = np.zeros(features.shape[1])
    counts = np.array([row.weight for row in rows])
    weights = fit_logistic(features, [r.is_plate for r in rows], start, ridge=RIDGE, counts=counts)
    names = PlateProbabilityCard.__struct_fields__
    return PlateProbabilityCard(**dict(zip(names, (round(w, 3) for w in weights), strict=True)))


def main() -> None:
    """Fit the probability and write it to the card of the configured detector."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--labels", type=Path, required=True)
    parser.add_argument("--others", type=Path, required=True, help="images without a plate")
    args = parser.parse_args()
    if next(half_of(args.others, Half.KEPT_BACK), None) is None:
        parser.error(f"{args.others} contains no images")
    cv2.setNumThreads(1)
    settings = RecognizerSettings.model_validate({"recognition_detection_threshold": LEAST_SCORE})
    finder, labels = FeatureFinder(settings), load_labels(args.labels)
    photos, rng = load_photos(args.photos, "train"), np.random.default_rng(0)
    plates = [view for photo in photos for view in of_plates(photo, finder, rng)]
    beside = [of_no_plates(photo, labels[photo.name], finder) for photo in photos]
    kept_back = half_of(args.others, Half.KEPT_BACK)
    others = [[signs for _, signs in finder.finds(picture)] for picture in kept_back]
    for name, found in (("views of plates", plates), ("photos", beside), ("others", others)):
        print(f"{name}: {len(found)} images, {sum(map(len, found))} detections")
    if not plates:
        parser.error(f"{args.photos} contains no held-out plates")
    rows = counted(plates, True, 1.0)
    rows += counted(beside, False, OTHERS_COUNT * len(plates) / len(beside))
    rows += counted(others, False, OTHERS_COUNT * len(plates) / len(others))
    card = fitted(rows)
    print(card)
    change_cards(settings.detector_path, {"plate_chance": msgspec.to_builtins(card)})


def _scaled(box: Box, scale: float) -> Box:
    left, top, right, bottom = (edge * scale for edge in box)
    return left, top, right, bottom


def _turned(box: Box, turn: npt.NDArray[np.floating]) -> Box:
    """Return the axis-parallel box around a rotated box."""
    left, top, right, bottom = box
    corners = np.array([(x, y, 1.0) for x in (left, right) for y in (top, bottom)]) @ turn.T
    (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
    return float(left), float(top), float(right), float(bottom)


if __name__ == "__main__":
    main()
