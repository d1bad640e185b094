"""Plates that are expected in an image. Boxes are in pixels of the image.

The worker pool also imports this module, so it must not need numpy.
"""

from dataclasses import dataclass
from typing import Final

from common.records.frames import Box


@dataclass(frozen=True)
class AnalysisHints:
    """Positions of expected plates. Plates found at a ``known`` position are not read.

    Plates expected at the ``others`` must be read: a plate near one of them may be that plate.
    """

    known: tuple[Box, ...] = ()
    others: tuple[Box, ...] = ()


NOTHING_KNOWN: Final = AnalysisHints()


@dataclass(frozen=True)
class KnownPlate:
    """A plate expected by the hints: ``known[index]``."""

    index: int
    box: Box
