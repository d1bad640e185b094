"""Fits the confidence of a reader: how often it is right at each mean character probability.

It is fitted on plates that the reader did not learn from. Their boxes are moved as a detector's
would be.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recognition.reading.reader import Reader
from recognition.types import CropText, Detection
from tools.evaluation.photos import Card
from tools.training.reader_data import Sample, moved

Floats = npt.NDArray[np.float64]

KNOTS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99)
LAST_KNOTS = (0.995, 0.998, 0.999, 1.0)
EPSILON = 1e-4


@dataclass(frozen=True)
class Curve:
    """sigmoid(slope × logit(x) + offset): monotone, and two numbers cannot overfit.

    **Source:** Platt, Probabilistic outputs for support vector machines, 1999.
    """

    slope: float
    offset: float

    def __call__(self, x: float) -> float:
        """Confidence for a mean character probability, both 0–1."""
        return float(_sigmoid(self.slope * logit(np.array(x)) + self.offset))

    def as_card(self) -> Card:
        """The curve as the card's table."""
        x = [*KNOTS, *LAST_KNOTS]
        return {"method": "piecewise_linear", "x": x, "y": [round(self(v), 4) for v in x]}


def fit_curve(raw: list[float], right: list[bool]) -> Curve:
    """The most likely curve for readings with mean probability ``raw`` that were ``right``."""
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
    """The most likely weights of ``features`` (rows × weights) in the log odds of being right.

    Newton's method in steps of 1 at most; the targets are drawn in by one count each, as
    Platt does. ``ridge`` is the cost of half the square of each weight; ``counts`` say how often a
    row counts, else once.
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


def apply(card: Card, raw: float) -> float:
    """What a reader's card makes of a mean character probability; ``raw`` without a table."""
    table = card.get("calibration")
    return float(np.interp(raw, table["x"], table["y"])) if table else raw


def logit(p: Floats) -> Floats:
    """The log odds of probabilities, those next to 0 and 1 drawn in."""
    p = np.clip(p, EPSILON, 1 - EPSILON)
    return np.asarray(np.log(p / (1 - p)))


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


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
