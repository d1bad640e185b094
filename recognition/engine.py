"""Finds and reads the plates in images: detect, crop and read, calibrate, filter."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from common.records.counts import PlatesLeft
from common.records.recognitions import PlateReading
from recognition.analysis_hints import NOTHING_KNOWN, AnalysisHints, KnownPlate
from recognition.detection.detector import Detector
from recognition.detection.known_plates import split_known
from recognition.detection.plate_search import deduplicate_detections, find_plates
from recognition.reading.plate_reading import ReadingCalibrator
from recognition.reading.reader import Plate, Reader
from recognition.reading.selection import best_readings, is_plate
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage, Detection

_MIN_READ_SCORE = 0.2
"""Minimum detector score of a plate that is read. On 575 photos, no detection with a lower score
became a reading."""

_MIN_READ_WIDTH_PX = 32
"""Minimum width of a plate that is read. Of photos shrunk until the plate was 30 px wide, 27 were
read right and 24 wrong, 9 of them with a confidence of 0.6 or more; at 34 px 46 and 19."""

_BLANK: BgrImage = np.zeros((640, 1280, 3), np.uint8)


@dataclass(frozen=True)
class FoundPlates:
    """The readings of an image, the plates without a reading, and the plates at known positions."""

    readings: list[PlateReading]
    left: PlatesLeft
    followed: tuple[KnownPlate, ...] = ()


class Recognizer:
    """Finds and reads plates.

    Contains the loaded models. Threads can share an instance, but only one runs inference.
    """

    def __init__(
        self, settings: RecognizerSettings, models: tuple[Detector, Reader] | None = None
    ) -> None:
        """Load the configured models, unless ``models`` are given.

        Raises:
            MisconfiguredError: a model or its card is missing or invalid.
        """
        self._detector, self._reader = models or (Detector.load(settings), Reader.load(settings))
        self._calibrator = ReadingCalibrator(self._detector, self._reader)

    def recognize(self, image: BgrImage, *, min_plate_width_px: int = 0) -> list[PlateReading]:
        """Return the readings of the image, best detection first, with boxes in image pixels.

        Plates narrower than ``min_plate_width_px``, or than 32 px, are not read. Readings that are
        too short or have too low a confidence are dropped.
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
        """
        hints = hints or [NOTHING_KNOWN] * len(images)
        detections = find_plates(self._detector, images, hints)
        split = list(map(split_known, detections, hints))
        plates = [
            [Plate(image, one) for one in unknown if _is_read(one, min_width_px)]
            for image, (unknown, _), min_width_px in zip(
                images, split, min_plate_widths_px, strict=True
            )
        ]
        return [
            _filtered(readings, unknown, min_width_px, known)
            for readings, (unknown, known), min_width_px in zip(
                self._read(plates), split, min_plate_widths_px, strict=True
            )
        ]

    def detect_and_read(self, image: BgrImage) -> list[PlateReading]:
        """Return all readings of the image, even those that :func:`is_plate` rejects."""
        (found,) = find_plates(self._detector, [image], [NOTHING_KNOWN])
        return self._read([[Plate(image, one) for one in found]])[0]

    def detect(self, image: BgrImage) -> list[Detection]:
        """Return one box per plate, best first, in image pixels, without reading the plates."""
        (found,) = find_plates(self._detector, [image], [NOTHING_KNOWN])
        return deduplicate_detections(found)[: self._detector.max_plates]

    def warm_up(self, images: int) -> None:
        """Run a blank batch of this size, so that GPU runtimes prepare for this batch size."""
        find_plates(self._detector, [_BLANK] * images, [NOTHING_KNOWN] * images)
        self._reader.read([_BLANK] * images)

    def _read(self, plates: list[list[Plate]]) -> list[list[PlateReading]]:
        """Read the plates of all images together. Return each image's readings, one per plate."""
        texts = iter(self._reader.read_all([*chain.from_iterable(plates)]))
        readings = [
            [self._calibrator.reading(plate, next(texts)) for plate in of_image]
            for of_image in plates
        ]
        return [best_readings(of_image)[: self._detector.max_plates] for of_image in readings]


def _is_read(found: Detection, min_width_px: int) -> bool:
    least_px = max(_MIN_READ_WIDTH_PX, min_width_px)
    return found.width_px >= least_px and found.score >= _MIN_READ_SCORE


def _filtered(
    readings: list[PlateReading],
    found: list[Detection],
    min_width_px: int,
    followed: tuple[KnownPlate, ...],
) -> FoundPlates:
    kept = list(filter(is_plate, readings))
    narrow = [one for one in found if one.width_px < min_width_px]
    small = len(deduplicate_detections(narrow))
    return FoundPlates(kept, PlatesLeft(small=small, unread=len(readings) - len(kept)), followed)
