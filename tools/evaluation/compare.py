"""Compares what two models read of the same photos."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DRAWS = 4000
INTERVAL = (2.5, 97.5)


@dataclass(frozen=True)
class Gain:
    """Difference of two shares in points, and its 95 % interval."""

    points: float
    low: float
    high: float


def gain(
    before: npt.NDArray[np.float64], after: npt.NDArray[np.float64], all_: npt.NDArray[np.float64]
) -> Gain:
    """Gain in the share of hits from hits ``before`` and ``after`` of ``all_``, a group a number.

    Groups are drawn with replacement: photos of one vehicle are not independent of each other.

    **Source:** Efron, Bootstrap methods: another look at the jackknife, 1979.
    """
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(all_), (DRAWS, len(all_)))
    gains = 100 * (after - before)[drawn].sum(axis=1) / all_[drawn].sum(axis=1)
    low, high = np.percentile(gains, INTERVAL)
    return Gain(100 * float((after - before).sum() / all_.sum()), float(low), float(high))
