"""The plates that are expected in an image. Boxes in pixels of the image.

The pool of processes knows it, too, so nothing here needs numpy.
"""

from dataclasses import dataclass
from typing import Final

from common.records.frames import Box


@dataclass(frozen=True)
class AnalysisHints:
    """Expected plates: those found in one of the ``known`` places are not read.

    ``others`` are places where plates are expected that must be read: a plate near one of them may
    be that plate.
    """

    known: tuple[Box, ...] = ()
    others: tuple[Box, ...] = ()


NOTHING_KNOWN: Final = AnalysisHints()


@dataclass(frozen=True)
class KnownPlate:
    """A plate expected by the hints: ``known[index]``."""

    index: int
    box: Box
