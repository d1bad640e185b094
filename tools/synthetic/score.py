"""Holds what a recogniser reported against the passes that really were in a scene."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PassScore:
    """The passes of one showing of a scene, by what came of each.

    ``doubled`` are plates reported more often than they passed, ``invented`` reports of plates
    that did not pass at all (a misread counts as missed and invented).
    """

    passes: int
    right_once: tuple[str, ...]
    doubled: tuple[str, ...]
    missed: tuple[str, ...]
    invented: tuple[str, ...]

    @property
    def right_share(self) -> float:
        """Passes with exactly one recognition with the right plate, as a share of all (0..1)."""
        return len(self.right_once) / self.passes if self.passes else 1.0

    def __str__(self) -> str:
        """Say it in one line for a person."""
        return (
            f"{len(self.right_once)} of {self.passes} passes right and once, "
            f"doubled {list(self.doubled)}, missed {list(self.missed)}, "
            f"invented {list(self.invented)}"
        )


def score_passes(true_plates: Iterable[str], reported_plates: Iterable[str]) -> PassScore:
    """Return how the reports match the passes; a plate may pass more than once.

    Both are normalised plate texts (upper case, no separators).
    """
    truth, reported = Counter(true_plates), Counter(reported_plates)
    return PassScore(
        passes=truth.total(),
        right_once=tuple(sorted(p for p in truth if reported[p] == truth[p])),
        doubled=tuple(sorted(p for p in truth if reported[p] > truth[p])),
        missed=tuple(sorted(p for p in truth if reported[p] < truth[p])),
        invented=tuple(sorted((reported - Counter({p: reported[p] for p in truth})).elements())),
    )
