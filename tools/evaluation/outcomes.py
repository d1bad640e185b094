"""The outcome of each labelled plate, and the shares by group, width, light and shape."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from recognition.types import Box, iou
from tools.evaluation.photos import Image, Photo, Plate
from tools.evaluation.scoring import DETECTED_IOU, FOLDED, SAME_PLATE_IOU, Said

WIDTHS_PX = (40, 60, 80, 120)
"""Edges of the classes of plate width."""

DARK_BELOW, DIM_BELOW = 60, 100
"""Mean grey levels, 0–255, of a plate with its surroundings."""

TWO_ROW_BELOW_ASPECT = 2.2
"""Width over height under which a plate probably has two rows."""

SURROUNDINGS = 1.0
"""Of a plate's size, what is looked at on each side to tell the light."""


@dataclass(frozen=True)
class PlateOutcome:
    """One labelled plate and what was said of it.

    ``said`` is the reading that counts: the right one if there is one, else the best at its place.
    ``light`` is a mean grey level, 0–255.
    """

    photo: Photo
    plate: Plate
    said: Said | None
    found: bool
    light: float

    @property
    def certain(self) -> bool:
        """Whether the plate's text is known."""
        return bool(self.plate.text) and not self.plate.uncertain

    @property
    def exact(self) -> bool:
        """Whether the whole text is right."""
        return self.certain and self.said is not None and self.said.text == self.plate.text

    @property
    def folded(self) -> bool:
        """As ``exact``, where O and Q count as 0 and I counts as 1."""
        if not self.certain or self.said is None:
            return False
        return self.said.text.translate(FOLDED) == self.plate.text.translate(FOLDED)


@dataclass(frozen=True)
class Slice:
    """How many of a kind of plates were found and read; ``certain`` have a known text."""

    name: str
    plates: int
    found: int
    certain: int
    exact: int
    folded: int


def outcomes(photo: Photo, said: tuple[Said, ...], image: Image) -> list[PlateOutcome]:
    """What became of each plate of a photo.

    As in ``scoring``: where a photo has one plate, a right text counts wherever it was found.
    """
    return [
        PlateOutcome(
            photo,
            plate,
            _counting(photo, plate, said),
            any(iou(plate.box, s.box) >= DETECTED_IOU for s in said),
            _light(image, plate.box),
        )
        for plate in photo.plates
    ]


def invented(photo: Photo, said: tuple[Said, ...]) -> list[Said]:
    """Readings of a photo that lie on none of its boxed plates."""
    return [s for s in said if all(iou(s.box, p.box) < SAME_PLATE_IOU for p in photo.plates)]


def slices(found: list[PlateOutcome], key: Callable[[PlateOutcome], str]) -> list[Slice]:
    """Shares by what ``key`` tells of an outcome, in the order of the keys."""
    names = sorted({key(o) for o in found})
    return [slice_of(name, (o for o in found if key(o) == name)) for name in names]


def slice_of(name: str, found: Iterable[PlateOutcome]) -> Slice:
    """The counts of some outcomes."""
    rows = list(found)
    return Slice(
        name,
        len(rows),
        sum(o.found for o in rows),
        sum(o.certain for o in rows),
        sum(o.exact for o in rows),
        sum(o.folded for o in rows),
    )


def group_of(outcome: PlateOutcome) -> str:
    """The data set of its photo."""
    return outcome.photo.group


def width_class(outcome: PlateOutcome) -> str:
    """Its width in the photo."""
    width = outcome.plate.box[2] - outcome.plate.box[0]
    edges = (0, *WIDTHS_PX)
    low = max(edge for edge in edges if edge <= width)
    above = [edge for edge in edges if edge > low]
    return f"{low:3d} to {above[0] - 1} px" if above else f"{low:3d} px or more"


def light_class(outcome: PlateOutcome) -> str:
    """How bright its surroundings are, by their mean grey level."""
    if outcome.light < DARK_BELOW:
        return f"  0 to {DARK_BELOW - 1} (dark)"
    if outcome.light < DIM_BELOW:
        return f"{DARK_BELOW:3d} to {DIM_BELOW - 1} (dim)"
    return f"{DIM_BELOW:3d} or more (bright)"


def shape_class(outcome: PlateOutcome) -> str:
    """Whether its box is as wide as one row of characters is, or as two rows are."""
    x1, y1, x2, y2 = outcome.plate.box
    return "one row" if x2 - x1 >= TWO_ROW_BELOW_ASPECT * (y2 - y1) else "two rows or American"


def region_of(outcome: PlateOutcome) -> str:
    """The country of the plate as it is labelled, without its parts."""
    region = outcome.plate.region or "?"
    return region if region.startswith("eu-") else region.split("-")[0]


def _counting(photo: Photo, plate: Plate, said: tuple[Said, ...]) -> Said | None:
    near = sorted((s for s in said if iou(s.box, plate.box) >= SAME_PLATE_IOU), key=_sureness)
    counted = said if len(photo.plates) == 1 else near
    right = [s for s in counted if s.text == plate.text]
    folded = [s for s in counted if s.text.translate(FOLDED) == plate.text.translate(FOLDED)]
    return next(iter([*right, *folded, *near]), None)


def _sureness(said: Said) -> float:
    return -said.confidence


def _light(image: Image, box: Box) -> float:
    height, width = image.shape[:2]
    grow_x, grow_y = SURROUNDINGS * (box[2] - box[0]), SURROUNDINGS * (box[3] - box[1])
    x1, y1 = max(0, int(box[0] - grow_x)), max(0, int(box[1] - grow_y))
    x2, y2 = min(width, int(box[2] + grow_x) + 1), min(height, int(box[3] + grow_y) + 1)
    return float(np.mean(image[y1:y2, x1:x2])) if x2 > x1 and y2 > y1 else 0.0
