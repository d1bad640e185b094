"""Calibrates the confidence of a reader, so that it equals the fraction of correct readings.

``python -m tools.training.calibration --photos DIR --reader FILE.onnx`` fits a curve to held-out
training plates and writes it to the reader's card. Boxes are moved to vary like a detector's boxes.
The second reader is not used, because the first reader's confidence must be valid without it.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recognition.reading.reader import Reader
from recognition.settings import RecognizerSettings
from recognition.types import CropText, Detection
from tools.training.cards import Card, read_card, write_card
from tools.training.reader_data import Sample, load_held_out, moved

Floats = npt.NDArray[np.float64]

KNOTS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99)
LAST_KNOTS = (0.995, 0.998, 0.999, 1.0)
EPSILON = 1e-4
JITTERS = (0.0, 0.03)


@dataclass(frozen=True)
class Curve:
    """The curve sigmoid(slope × logit(x) + offset), which is monotone and too simple to overfit.

    **Source:** Platt, Probabilistic outputs for support vector machines, 1999.
    """

    slope: float
    offset: float

    def __call__(self, x: float) -> float:
        """Return the confidence (0 to 1) for a mean character probability (0 to 1)."""
        return float(_sigmoid(self.slope * logit(np.array(x)) + self.offset))

    def as_card(self) -> Card:
        """Return the curve as a table of points for the card."""
        x = [*KNOTS, *LAST_KNOTS]
        return {"method": "piecewise_linear", "x": x, "y": [round(self(v), 4) for v in x]}


def fit_curve(raw: list[float], right: list[bool]) -> Curve:
    """Return the maximum-likelihood curve for readings with mean probability ``raw``."""
    features = np.stack([logit(np.array(raw)), np.ones(len(raw))], axis=1)
    return Curve(*fit_logistic(features, right, np.array([1.0, 0.0])))


def fit_logistic(
    features: Floats,
    right: list[bool],
    start: Floats,
    steps: int = 200,
    *,
    ridge: float = 0.0,
    counts: Floats | None = None,
) -> tuple[float, ...]:
    """Return the maximum-likelihood weights of ``features`` (rows × weights) for the log odds.

    Uses Newton's method with steps of at most 1. The targets are smoothed by one count each, as in
    Platt's paper. ``ridge`` is the penalty factor for half the square of each weight. ``counts``
    contains the weight of each row, 1 by default.
    """
    counts = np.ones(len(right)) if counts is None else counts
    hits = float(counts @ np.array(right))
    high, low = (hits + 1) / (hits + 2), 1 / (counts.sum() - hits + 2)
    target = np.where(np.array(right), high, low)
    weights = start
    for _ in range(steps):
        p = _sigmoid(features @ weights)
        gradient = features.T @ (counts * (p - target)) + ridge * weights
        hessian = (features * (counts * p * (1 - p))[:, None]).T @ features
        hessian += (ridge + 1e-6) * np.eye(len(weights))
        step = np.linalg.solve(hessian, gradient)
        weights = weights - step / max(1.0, float(np.abs(step).max()))
    return tuple(map(float, weights))


def logit(p: Floats) -> Floats:
    """Return the log odds of probabilities, after clipping them near 0 and 1."""
    p = np.clip(p, EPSILON, 1 - EPSILON)
    return np.asarray(np.log(p / (1 - p)))


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


class Rated(NamedTuple):
    """The reading of a plate, and whether the reading is correct."""

    text: CropText
    is_right: bool


def rated(samples: list[Sample], reader: Reader, jitters: tuple[float, ...]) -> Iterator[Rated]:
    """Yield a reading of each plate for each of ``jitters``, with moved boxes.

    A jitter is the standard deviation of the movement of edges, as a fraction of the plate's size.
    """
    rng = np.random.default_rng(0)
    for jitter in jitters:
        for sample in samples:
            found = Detection(*moved(sample.box, jitter, rng), 1.0, "plate")
            bgr = np.ascontiguousarray(sample.image[..., ::-1])
            (text,) = reader.read_plates(bgr, [found])
            yield Rated(text, text.text == sample.text)


def fitted(readings: list[Rated]) -> Curve:
    """Fit, print and return the curve that maps mean character probabilities to confidences."""
    right = [one.is_right for one in readings]
    curve = fit_curve([one.text.mean_probability for one in readings], right)
    print(f"calibration: {len(readings)} readings, correct {np.mean(right):.3f}, {curve}")
    return curve


def main() -> None:
    """Fit the curve of the given reader, and write the curve to the reader's card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--reader", type=Path, required=True, help="ONNX file with its model card")
    args = parser.parse_args()
    given = {"recognition_reader_model": str(args.reader), "recognition_second_reader": False}
    reader = Reader.load(RecognizerSettings.model_validate(given))
    samples = load_held_out(args.photos, reader.card.output.slots)
    curve = fitted([*rated(samples, reader, JITTERS)])
    write_card(args.reader, read_card(args.reader) | {"calibration": curve.as_card()})


if __name__ == "__main__":
    main()
