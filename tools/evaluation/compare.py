"""Compares what two pairs of models said of the same photos, with the doubt that is left.

``python -m tools.evaluation.compare --photos DIR --before A.jsonl --after B.jsonl`` takes two
files that ``evaluate --predictions`` wrote and prints the gain with its 95 % interval.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tools.evaluation.photos import Photo, load_photos
from tools.evaluation.scoring import Said, score

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


def load_said(path: Path) -> dict[str, list[Said]]:
    """What a file of predictions says, by photo."""
    rows = map(json.loads, path.read_text().splitlines())
    return {
        row["image"]: [Said(p["text"], p["conf"], tuple(p["box"])) for p in row["plates"]]
        for row in rows
    }


def groups(photos: list[Photo]) -> list[list[Photo]]:
    """The photos by the first plate that they show."""
    found: dict[str, list[Photo]] = {}
    for photo in photos:
        text = next((p.text for p in photo.plates if p.text), photo.name)
        found.setdefault(text, []).append(photo)
    return list(found.values())


def hits(parts: list[list[Photo]], said: dict[str, list[Said]], what: str) -> list[float]:
    """How many plates of each group were ``detected`` or read ``exact``."""
    scores = [score(part, said) for part in parts]
    return [getattr(s, what) * (s.plates if what == "detected" else s.certain) for s in scores]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--split", default="val", choices=("train", "val"))
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--after", type=Path, required=True)
    args = parser.parse_args()
    before, after = load_said(args.before), load_said(args.after)
    parts = groups([p for p in load_photos(args.photos, args.split) if p.name in before])
    for what, of in (("detected", "plates"), ("exact", "certain")):
        scores = [score(part, before) for part in parts]
        all_ = np.array([float(getattr(s, of)) for s in scores])
        found = gain(np.array(hits(parts, before, what)), np.array(hits(parts, after, what)), all_)
        print(
            f"{what}: {found.points:+.1f} points, 95 % from {found.low:+.1f} to {found.high:+.1f}"
        )


if __name__ == "__main__":
    main()
