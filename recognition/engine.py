"""Finds and reads the plates in an image."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from common.plates.normalise import MAX_PLATE_LENGTH
from common.records.counts import PlatesLeft
from common.records.frames import Box as FrameBox
from common.records.recognitions import CharacterOption, PlateReading
from recognition.analysis_hints import NOTHING_KNOWN, AnalysisHints, KnownPlate
from recognition.detection.close_up_detector import (
    SAME_PLATE_OVERLAP,
    CloseUpDetector,
    deduplicate_detections,
)
from recognition.detection.detector import Detector
from recognition.detection.known_plates import split_known
from recognition.detection.zoom_detector import ZoomDetector
from recognition.images import as_bgr
from recognition.reading.confidence import PlateFeatures, calibrate, plate_probability
from recognition.reading.reader import Plate, Reader
from recognition.reading.row_classifier import RowClassifier
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage, Box, Character, CropText, Detection, overlap_coefficient

TWO_ROW = "two-row"
_PLATE_TYPES = (TWO_ROW, "motorcycle")
READING_THRESHOLD = 0.3
"""Minimum confidence of a reading. Tracking later decides which readings become recognitions."""
_MIN_READ_SCORE = 0.2
"""Minimum detector score of a plate that is read. On 575 photos, no detection with a lower score
became a reading."""
MIN_CHARACTERS = 2
"""Minimum number of characters of a reading that can be a plate."""

_BLANK: BgrImage = np.zeros((640, 1280, 3), np.uint8)


@dataclass(frozen=True)
class FoundPlates:
    """The readings of an image, the plates without a reading, and the plates at known positions."""

    readings: list[PlateReading]
    left: PlatesLeft
    followed: tuple[KnownPlate, ...] = ()


class Recognizer:
    """Finds and reads plates: detects, reads, scores, deduplicates and filters.

    Contains the loaded models. Threads can share an instance, but only one runs inference.
    """

    def __init__(
        self, settings: RecognizerSettings, models: tuple[Detector, Reader] | None = None
    ) -> None:
        """Load the configured models, unless ``models`` are given.

        Raises:
            MisconfiguredError: a model or its card is missing or invalid.
        """
        self._settings = settings
        detector, self._reader = models or (Detector.load(settings), Reader.load(settings))
        near = ZoomDetector(detector) if detector.has_canvases else detector
        self._detector = CloseUpDetector(detector, near)
        self._plate_probability_card = detector.plate_probability_card
        self._has_type_classes = any(kind in _PLATE_TYPES for kind in detector.classes)
        self._rows = RowClassifier.load()
        self._max_plates = detector.max_plates

    def recognize(self, image: BgrImage, *, min_plate_width_px: int = 0) -> list[PlateReading]:
        """Return the readings of the image, best detection first, with boxes in image pixels.

        Plates narrower than ``min_plate_width_px`` are not read. Readings that are too short or
        have too low a confidence are dropped (:meth:`is_plate`).

        Raises:
            InvalidInputError: the image is not H×W×3, H×W or H×W×4 uint8.
        """
        return self.find_all([image], [min_plate_width_px])[0].readings

    def find_all(
        self,
        images: list[BgrImage],
        min_plate_widths_px: list[int],
        hints: Sequence[AnalysisHints] | None = None,
    ) -> list[FoundPlates]:
        """Return the readings of each image (:meth:`recognize`), and the plates without a reading.

        ``hints`` are the expected plates of each image. Without hints, all plates are read.

        Raises:
            InvalidInputError: an image is not H×W×3, H×W or H×W×4 uint8.
        """
        hints = hints or [NOTHING_KNOWN] * len(images)
        detected, followed = self._detect_unknown(images, hints)
        plates = [
            [one for one in found if _is_read(one.found, min_width_px)]
            for found, min_width_px in zip(detected, min_plate_widths_px, strict=True)
        ]
        readings = self._readings(plates)
        return [
            self._found(plates, min_width_px, of_image, known)
            for plates, min_width_px, of_image, known in zip(
                detected, min_plate_widths_px, readings, followed, strict=True
            )
        ]

    def detect_and_read(self, image: BgrImage) -> list[PlateReading]:
        """Return all readings of the image, even those that :meth:`is_plate` rejects."""
        plates, _ = self._detect_unknown([image], [NOTHING_KNOWN])
        return self._readings(plates)[0]

    def detect(self, image: BgrImage) -> list[Detection]:
        """Return one box per plate, best first, in image pixels, without reading the plates."""
        found = deduplicate_detections(self._detector.detect_all([image])[0])
        return found[: self._max_plates]

    def warm_up(self, images: int) -> None:
        """Run a blank batch of this size, so that GPU runtimes prepare for this batch size."""
        self._detector.detect_all([_BLANK] * images)
        self._reader.read([_BLANK] * images)

    def _detect_unknown(
        self, images: list[BgrImage], hints: Sequence[AnalysisHints]
    ) -> tuple[list[list[Plate]], list[tuple[KnownPlate, ...]]]:
        """Return the plates to read in each image, and the plates at known positions."""
        images = list(map(as_bgr, images))
        detections = self._detector.detect_all(images, hints)
        sorted_out = list(map(split_known, detections, hints))
        plates = [
            [Plate(image, one) for one in found]
            for image, (found, _) in zip(images, sorted_out, strict=True)
        ]
        return plates, [known for _, known in sorted_out]

    def _readings(self, plates: list[list[Plate]]) -> list[list[PlateReading]]:
        """Read the plates of all images together. Return each image's readings, one per plate."""
        texts = iter(self._reader.read_all([*chain.from_iterable(plates)]))
        # Each image takes one text per plate from the iterator.
        return [
            self._best([self._reading(*one) for one in zip(of_image, texts, strict=False)])
            for of_image in plates
        ]

    def _found(
        self,
        plates: list[Plate],
        min_width_px: int,
        readings: list[PlateReading],
        followed: tuple[KnownPlate, ...],
    ) -> FoundPlates:
        narrow = [one.found for one in plates if one.found.width_px < min_width_px]
        kept = list(filter(self.is_plate, readings))
        left = PlatesLeft(
            small=len(deduplicate_detections(narrow)) if narrow else 0,
            unread=len(readings) - len(kept),
        )
        return FoundPlates(kept, left, followed)

    def _reading(self, plate: Plate, text: CropText) -> PlateReading:
        image, found = plate
        probability = plate_probability(
            self.plate_features(image, found, text), self._plate_probability_card
        )
        characters = calibrate(text.characters, self._reader.calibration(text), probability)
        return PlateReading(
            text=text.text,
            confidence=_mean_probability(characters),
            detection_confidence=found.score,
            box=FrameBox(x=found.left, y=found.top, width=found.width_px, height=found.height_px),
            positions=tuple(_options(character) for character in characters),
            region=text.region,
            region_confidence=text.region_confidence,
            plate_type=self._plate_type(image, found, text.degrees),
        )

    def plate_features(self, image: BgrImage, found: Detection, text: CropText) -> PlateFeatures:
        """Return the features of a detection and a text that distinguish plates from signs."""
        share = found.width_px / image.shape[1]
        return PlateFeatures(found.score, share, text.text, text.min_probability)

    def _plate_type(self, image: BgrImage, found: Detection, degrees: float) -> str:
        """Return the detector's class if classes are plate types; otherwise count the rows."""
        if self._has_type_classes:
            return found.kind if found.kind in _PLATE_TYPES else "car"
        return TWO_ROW if self._rows.has_two_rows(image, found, degrees) else "car"

    def _best(self, readings: list[PlateReading]) -> list[PlateReading]:
        """Return the best reading of each plate. Boxes that mostly overlap are of one plate.

        Readings that are reported take precedence. The confidence does not distinguish parts of a
        plate, which are read with the same confidence as the whole plate.
        """

        def rank(one: PlateReading) -> tuple[bool, float]:
            return self.is_plate(one), one.confidence * one.detection_confidence

        kept: list[PlateReading] = []
        for one in sorted(readings, key=rank, reverse=True):
            if all(_overlap(one, other) < SAME_PLATE_OVERLAP for other in kept):
                kept.append(one)
        kept.sort(key=lambda one: one.detection_confidence, reverse=True)
        return kept[: self._max_plates]

    def is_plate(self, reading: PlateReading) -> bool:
        """Return whether a reading has a valid length and a sufficient confidence."""
        length = len(reading.text)
        return (
            MIN_CHARACTERS <= length <= MAX_PLATE_LENGTH and reading.confidence >= READING_THRESHOLD
        )


def _is_read(found: Detection, min_width_px: int) -> bool:
    return found.width_px >= min_width_px and found.score >= _MIN_READ_SCORE


def _overlap(one: PlateReading, other: PlateReading) -> float:
    return overlap_coefficient(_box(one), _box(other))


def _box(reading: PlateReading) -> Box:
    box = reading.box
    return box.x, box.y, box.x + box.width, box.y + box.height


def _mean_probability(characters: tuple[Character, ...]) -> float:
    if not characters:
        return 0.0
    return sum(c.options[0][1] for c in characters) / len(characters)


def _options(character: Character) -> tuple[CharacterOption, ...]:
    return tuple(CharacterOption(character=c, probability=p) for c, p in character.options)
