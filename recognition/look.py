"""How an image is looked at, and the plates that are known there. Boxes in pixels of the image.

The pool of processes knows it, too, so nothing here needs numpy.
"""

from dataclasses import dataclass
from typing import Final

from common.records.frames import Box


@dataclass(frozen=True)
class Look:
    """How an image is looked at: plates found in one of the ``known`` places are not read.

    ``others`` are places where plates are expected that are to be read: what lies near one of them
    may be that plate. ``part`` is where there may be others; None: anywhere.
    """

    known: tuple[Box, ...] = ()
    others: tuple[Box, ...] = ()
    part: Box | None = None


NOTHING_KNOWN: Final = Look()


@dataclass(frozen=True)
class KnownPlate:
    """A plate found in a known place, the ``place``-th of the look."""

    place: int
    box: Box
