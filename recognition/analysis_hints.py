"""Describes the plates that tracks expect in an image. Boxes are in pixels of the image.

The worker pool also imports this module, so the module must not import numpy.
"""

from dataclasses import dataclass
from typing import Final

from common.records.frames import Box


@dataclass(frozen=True)
class AnalysisHints:
    """Positions of expected plates. Plates found at a ``known`` position are not read.

    Plates expected at the ``others`` positions must be read, and so must plates near them.
    """

    known: tuple[Box, ...] = ()
    others: tuple[Box, ...] = ()


NOTHING_KNOWN: Final = AnalysisHints()


@dataclass(frozen=True)
class KnownPlate:
    """A plate found at the position ``known[index]`` of the hints."""

    index: int
    box: Box
