"""Decides which readings are plates, and which of several readings of a plate is the best."""

from common.plates.normalise import MAX_PLATE_LENGTH
from common.records.recognitions import PlateReading
from recognition.detection.plate_search import SAME_PLATE_OVERLAP
from recognition.types import Box, overlap_coefficient

READING_THRESHOLD = 0.3
"""Minimum confidence of a reading. Tracking later decides which readings become recognitions."""

MIN_CHARACTERS = 2
"""Minimum number of characters of a reading that can be a plate."""


def is_plate(reading: PlateReading) -> bool:
    """Return whether a reading has a valid length and a sufficient confidence."""
    has_valid_length = MIN_CHARACTERS <= len(reading.text) <= MAX_PLATE_LENGTH
    return has_valid_length and reading.confidence >= READING_THRESHOLD


def best_readings(readings: list[PlateReading]) -> list[PlateReading]:
    """Return the best reading of each plate, best detection first.

    Boxes that mostly overlap are of one plate. Readings that are reported take precedence. The
    confidence does not distinguish parts of a plate, which are read with the same confidence as
    the whole plate.
    """

    def rank(one: PlateReading) -> tuple[bool, float]:
        return is_plate(one), one.confidence * one.detection_confidence

    kept: list[PlateReading] = []
    for one in sorted(readings, key=rank, reverse=True):
        if all(overlap_coefficient(edges_of(one), edges_of(o)) < SAME_PLATE_OVERLAP for o in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.detection_confidence, reverse=True)


def edges_of(reading: PlateReading) -> Box:
    """Return the left, top, right and bottom of a reading's box in pixels."""
    box = reading.box
    return box.x, box.y, box.x + box.width, box.y + box.height
