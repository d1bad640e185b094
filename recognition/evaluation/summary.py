"""Aggregates the results of an evaluation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from recognition.evaluation.evaluate import PhotoResult
from recognition.evaluation.outcomes import CLASSES, PlateOutcome

_DRAWS: Final = 2000
_INTERVAL: Final = (2.5, 97.5)
_BINS: Final = 10
_MIN_PLATES_PER_COUNTRY: Final = 5


@dataclass(frozen=True)
class MeasuredShare:
    """A fraction (0 to 1) with its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Slice:
    """Counts of the plates of a class, by outcome. ``certain`` counts plates with a known text."""

    name: str
    plates: int
    found: int
    certain: int
    exact: int
    folded: int


@dataclass(frozen=True)
class Bin:
    """The number, mean confidence and correct fraction of readings with similar confidence."""

    count: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Summary:
    """Results of an evaluation. Fractions are 0 to 1, and ``cpu_ms`` is the median over the photos.

    ``false_alarms`` counts exhaustive photos with readings that are on no boxed plate. ``invented``
    counts such readings in all photos. Such a reading may be correct.
    """

    photos: int
    plates: int
    certain: int
    detected: MeasuredShare
    exact: MeasuredShare
    folded: MeasuredShare
    calibration_error: float
    exhaustive_photos: int
    false_alarms: int
    invented: int
    cpu_ms: float
    tables: tuple[tuple[str, tuple[Slice, ...]], ...]
    bins: tuple[Bin, ...]


def summarise(results: Sequence[PhotoResult]) -> Summary:
    """Return the aggregated results of all photos."""
    found = [outcome for one in results for outcome in one.outcomes]
    rated = [
        (outcome.prediction.confidence, outcome.exact)
        for outcome in found
        if outcome.plate.certain and outcome.prediction is not None
    ]
    exhaustive = [one for one in results if one.photo.exhaustive]
    return Summary(
        photos=len(results),
        plates=len(found),
        certain=sum(outcome.plate.certain for outcome in found),
        detected=_share(results, lambda _: True, lambda one: one.found),
        exact=_share(results, lambda one: one.plate.certain, lambda one: one.exact),
        folded=_share(results, lambda one: one.plate.certain, lambda one: one.folded),
        calibration_error=calibration_error(rated),
        exhaustive_photos=len(exhaustive),
        false_alarms=sum(bool(one.invented) for one in exhaustive),
        invented=sum(len(one.invented) for one in results),
        cpu_ms=float(np.median([one.cpu_ms for one in results])) if results else 0.0,
        tables=tuple((name, _slices(found, name)) for name in CLASSES),
        bins=tuple(reliability(rated)),
    )


def _share(
    results: Sequence[PhotoResult],
    counts: Callable[[PlateOutcome], bool],
    hit: Callable[[PlateOutcome], bool],
) -> MeasuredShare:
    """Return the fraction of hits among the plates that are counted.

    Photos of the same vehicle are not independent, so they are resampled together.

    **Source:** Efron, Bootstrap methods: another look at the jackknife, 1979.
    """
    vehicles: dict[str, list[PlateOutcome]] = {}
    for one in results:
        texts = (plate.text for plate in one.photo.plates if plate.text)
        vehicle = vehicles.setdefault(next(texts, one.photo.name), [])
        vehicle += filter(counts, one.outcomes)
    rows = [(sum(map(hit, vehicle)), len(vehicle)) for vehicle in vehicles.values() if vehicle]
    if not rows:
        return MeasuredShare(0.0, 0.0, 0.0)
    hits = np.array(rows, dtype=float)
    drawn = np.random.default_rng(0).integers(0, len(hits), (_DRAWS, len(hits)))
    totals = hits[drawn].sum(axis=1)
    low, high = np.percentile(totals[:, 0] / totals[:, 1], _INTERVAL)
    return MeasuredShare(float(hits[:, 0].sum() / hits[:, 1].sum()), float(low), float(high))


def _slices(found: Sequence[PlateOutcome], table: str) -> tuple[Slice, ...]:
    classes: dict[str, list[PlateOutcome]] = {}
    for outcome in found:
        classes.setdefault(CLASSES[table](outcome), []).append(outcome)
    fewest = _MIN_PLATES_PER_COUNTRY if table == "country" else 1
    return tuple(
        Slice(
            name,
            len(rows),
            sum(outcome.found for outcome in rows),
            sum(outcome.plate.certain for outcome in rows),
            sum(outcome.exact for outcome in rows),
            sum(outcome.folded for outcome in rows),
        )
        for name, rows in sorted(classes.items())
        if len(rows) >= fewest
    )


def reliability(rated: Sequence[tuple[float, bool]]) -> list[Bin]:
    """Return the non-empty bins of (confidence, is correct) pairs, lowest confidence first."""
    if not rated:
        return []
    pairs = np.array(rated, dtype=float)
    classes = np.minimum((pairs[:, 0] * _BINS).astype(int), _BINS - 1)
    bins = []
    for number in np.unique(classes):
        rows = pairs[classes == number]
        confidence, right = rows.mean(axis=0)
        bins.append(Bin(len(rows), float(confidence), float(right)))
    return bins


def calibration_error(rated: Sequence[tuple[float, bool]]) -> float:
    """Return the expected calibration error of (confidence, is correct) pairs."""
    error = sum(one.count * abs(one.confidence - one.right) for one in reliability(rated))
    return error / max(1, len(rated))
