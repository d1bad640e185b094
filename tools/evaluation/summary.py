"""The figures of one evaluation, as a person reads them and as a program does."""

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from tools.evaluation.outcomes import (
    PlateOutcome,
    Slice,
    group_of,
    light_class,
    region_of,
    shape_class,
    slices,
    width_class,
)
from tools.evaluation.photos import Card
from tools.evaluation.run import (
    Bin,
    Looked,
    Share,
    certain_only,
    pairs,
    reliability,
    share_with_interval,
)
from tools.evaluation.scoring import calibration_error

KINDS: tuple[tuple[str, Callable[[PlateOutcome], str]], ...] = (
    ("data set", group_of),
    ("width of the plate", width_class),
    ("light", light_class),
    ("shape", shape_class),
    ("country", region_of),
)
FEWEST_OF_A_COUNTRY = 5


@dataclass(frozen=True)
class Summary:
    """Shares are 0–1; ``false_alarms`` counts photos whose every plate is boxed and that got more.

    ``invented`` counts readings on no boxed plate, on all photos: some of them may be right.
    """

    photos: int
    plates: int
    certain: int
    detected: Share
    exact: Share
    folded: Share
    calibration_error: float
    exhaustive_photos: int
    false_alarms: int
    invented: int
    cpu_ms: float
    tables: tuple[tuple[str, tuple[Slice, ...]], ...]
    bins: tuple[Bin, ...]

    def as_json(self) -> Card:
        """For a program: the same names, shares unrounded."""
        return asdict(self)


def summarise(looked: list[Looked]) -> Summary:
    """Sum up the photos that were looked at."""
    found = [o for one in looked for o in one.outcomes]
    known = certain_only(looked)
    rated = pairs(looked)
    exhaustive = [one for one in looked if one.photo.exhaustive]
    return Summary(
        photos=len(looked),
        plates=len(found),
        certain=sum(o.certain for o in found),
        detected=share_with_interval(looked, lambda o: o.found),
        exact=share_with_interval(known, lambda o: o.exact),
        folded=share_with_interval(known, lambda o: o.folded),
        calibration_error=calibration_error(rated),
        exhaustive_photos=len(exhaustive),
        false_alarms=sum(bool(one.invented) for one in exhaustive),
        invented=sum(len(one.invented) for one in looked),
        cpu_ms=float(np.median([one.cpu_ms for one in looked])) if looked else 0.0,
        tables=tuple((name, _table(found, name, key)) for name, key in KINDS),
        bins=tuple(reliability(rated)),
    )


def as_text(summary: Summary) -> str:
    """The figures as a few lines and tables in Markdown."""
    lines = [
        f"{summary.photos} photos, {summary.plates} plates, {summary.certain} with a certain text",
        f"detected {_percent(summary.detected)}, exact {_percent(summary.exact)}, O=0 I=1 folded "
        f"{_percent(summary.folded)}, calibration error {100 * summary.calibration_error:.1f} %",
        f"readings on no labelled plate: {summary.invented}; of the {summary.exhaustive_photos} "
        f"photos whose every plate is labelled, {summary.false_alarms} have one",
        f"processor time a photo, decoding included: median {summary.cpu_ms:.1f} ms",
    ]
    for name, rows in summary.tables:
        lines += ["", f"| {name} | plates | found | read right | O=0 I=1 folded |"]
        lines += ["|---|---|---|---|---|", *map(slice_row, rows)]
    return "\n".join(lines)


def slice_row(row: Slice) -> str:
    """One row of a Markdown table."""
    return (
        f"| {row.name} | {row.plates} | {row.found} | {row.exact} of {row.certain} | {row.folded} |"
    )


def _table(
    found: list[PlateOutcome], name: str, key: Callable[[PlateOutcome], str]
) -> tuple[Slice, ...]:
    rows = slices(found, key)
    if name == "country":
        rows = [row for row in rows if row.plates >= FEWEST_OF_A_COUNTRY]
    return tuple(rows)


def _percent(share: Share) -> str:
    return f"{100 * share.value:.1f} % ({100 * share.low:.1f}–{100 * share.high:.1f})"
