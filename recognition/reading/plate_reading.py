"""Turns the text of a plate into a reading with a calibrated confidence."""

from common.records.frames import Box
from common.records.recognitions import CharacterOption, PlateReading
from recognition.detection.detector import Detector
from recognition.reading.confidence import PlateFeatures, calibrate, plate_probability
from recognition.reading.reader import Plate, Reader
from recognition.reading.row_classifier import RowClassifier
from recognition.types import CropText

_TWO_ROW = "two-row"
_PLATE_TYPES = (_TWO_ROW, "motorcycle")


class ReadingCalibrator:
    """Calculates confidences with the cards of a detector and a reader."""

    def __init__(self, detector: Detector, reader: Reader) -> None:
        """Load the row classifier.

        Raises:
            MisconfiguredError: the weights of the row classifier are missing or invalid.
        """
        self._reader = reader
        self._plate_probability_card = detector.plate_probability_card
        self._has_type_classes = any(kind in _PLATE_TYPES for kind in detector.classes)
        self._rows = RowClassifier.load()

    def reading(self, plate: Plate, text: CropText) -> PlateReading:
        """Return the reading of a plate. Its box is in pixels of the plate's image."""
        found, card = plate.found, self._reader.calibration(text)
        probability = plate_probability(plate_features(plate, text), self._plate_probability_card)
        characters = calibrate(text.characters, card, probability)
        best = [character.options[0][1] for character in characters]
        return PlateReading(
            text=text.text,
            confidence=sum(best) / len(best) if best else 0.0,
            detection_confidence=found.score,
            box=Box(x=found.left, y=found.top, width=found.width_px, height=found.height_px),
            positions=tuple(
                tuple(CharacterOption(character=c, probability=p) for c, p in character.options)
                for character in characters
            ),
            region=text.region,
            region_confidence=text.region_confidence,
            plate_type=self._plate_type(plate, text.degrees),
        )

    def _plate_type(self, plate: Plate, degrees: float) -> str:
        """Return the detector's class if classes are plate types; otherwise count the rows."""
        if self._has_type_classes:
            return plate.found.kind if plate.found.kind in _PLATE_TYPES else "car"
        return _TWO_ROW if self._rows.has_two_rows(*plate, degrees) else "car"


def plate_features(plate: Plate, text: CropText) -> PlateFeatures:
    """Return the features of a detection and a text that distinguish plates from signs."""
    share = plate.found.width_px / plate.image.shape[1]
    return PlateFeatures(plate.found.score, share, text.text, text.min_probability)
