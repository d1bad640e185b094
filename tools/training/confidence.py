"""Fits what a reader's probabilities are worth to how often it is right.

Both cards' tables come from here: from the engine's own reader, on plates that it did not learn
from, each as its label has it and with its box moved as a detector's would be.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from recognition.reading.reader import Reader
from recognition.types import CropText, Detection
from tools.training.calibration import Curve, fit_curve
from tools.training.reader_data import Sample, moved


class Rated(NamedTuple):
    """What was read on a plate, and whether it is what is written there."""

    text: CropText
    is_right: bool


def rated(samples: list[Sample], reader: Reader, jitters: tuple[float, ...]) -> Iterator[Rated]:
    """Read all plates once for each of ``jitters``, which move their boxes.

    A jitter is the deviation of an edge's move, as a share of the plate's size.
    """
    rng = np.random.default_rng(0)
    for jitter in jitters:
        for sample in samples:
            found = Detection(*moved(sample.box, jitter, rng), 1.0, "plate")
            bgr = np.ascontiguousarray(sample.image[..., ::-1])
            (text,) = reader.read_plates(bgr, [found])
            yield Rated(text, text.text == sample.text)


def fitted(readings: list[Rated]) -> Curve:
    """Return the curve from the mean character probability to the confidence; prints it."""
    right = [one.is_right for one in readings]
    curve = fit_curve([one.text.mean_probability for one in readings], right)
    print(f"calibration: {len(readings)} readings, right {np.mean(right):.3f}, {curve}")
    return curve
