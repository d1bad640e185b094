"""Determines the outcomes of labelled plates, and the classes in which outcomes are counted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from common.records.recognitions import PlateReading
from recognition.evaluation.photos import LabelledPlate, Photo
from recognition.reading.selection import edges_of
from recognition.types import iou

DETECTED_IOU: Final = 0.5
SAME_PLATE_IOU: Final = 0.3
FOLDED: Final = str.maketrans("OIQ", "010")

_WIDTHS_PX: Final = (0, 40, 60, 80, 120)
"""Lower limits of the plate width classes."""

_TWO_ROWS_BELOW_ASPECT: Final = 2.2
"""Ratio of width to height below which a plate probably has two rows."""


@dataclass(frozen=True)
class PlateOutcome:
    """A labelled plate and the engine's result.

    ``prediction`` is the correct reading or, without a correct reading, the reading with the
    highest confidence at the plate's position.
    """

    photo: Photo
    plate: LabelledPlate
    prediction: PlateReading | None
    found: bool

    @property
    def exact(self) -> bool:
        """Whether the whole text is correct."""
        return self.plate.certain and self._text() == self.plate.text

    @property
    def folded(self) -> bool:
        """Whether the whole text is correct if O and Q count as 0, and I counts as 1."""
        same = self._text().translate(FOLDED) == self.plate.text.translate(FOLDED)
        return self.plate.certain and same

    def _text(self) -> str:
        return self.prediction.text if self.prediction else ""


def outcomes(photo: Photo, predictions: tuple[PlateReading, ...]) -> tuple[PlateOutcome, ...]:
    """Return the outcome of each plate of a photo.

    If a photo has only one plate, a correct text counts regardless of its position.
    """
    return tuple(
        PlateOutcome(
            photo,
            plate,
            _counting(photo, plate, predictions),
            any(iou(plate.box, edges_of(one)) >= DETECTED_IOU for one in predictions),
        )
        for plate in photo.plates
    )


def on_no_plate(photo: Photo, predictions: tuple[PlateReading, ...]) -> tuple[PlateReading, ...]:
    """Return the readings that are on none of a photo's boxed plates."""
    return tuple(
        one
        for one in predictions
        if all(iou(plate.box, edges_of(one)) < SAME_PLATE_IOU for plate in photo.plates)
    )


def _counting(
    photo: Photo, plate: LabelledPlate, predictions: tuple[PlateReading, ...]
) -> PlateReading | None:
    near = [one for one in predictions if iou(plate.box, edges_of(one)) >= SAME_PLATE_IOU]
    near.sort(key=lambda one: -one.confidence)
    counted = predictions if len(photo.plates) == 1 else near
    text = plate.text.translate(FOLDED)
    correct = [one for one in counted if one.text == plate.text]
    folded = [one for one in counted if one.text.translate(FOLDED) == text]
    return next(iter([*correct, *folded, *near]), None)


def _width(outcome: PlateOutcome) -> str:
    width = outcome.plate.box[2] - outcome.plate.box[0]
    low = max(edge for edge in _WIDTHS_PX if edge <= width)
    above = [edge for edge in _WIDTHS_PX if edge > low]
    return f"{low:3d} to {above[0] - 1} px" if above else f"{low:3d} px or more"


def _shape(outcome: PlateOutcome) -> str:
    x1, y1, x2, y2 = outcome.plate.box
    is_one_row = x2 - x1 >= _TWO_ROWS_BELOW_ASPECT * (y2 - y1)
    return "one row" if is_one_row else "two rows or US format"


def _country(outcome: PlateOutcome) -> str:
    region = outcome.plate.region or "?"
    return region if region.startswith("eu-") else region.split("-")[0]


CLASSES: Final[Mapping[str, Callable[[PlateOutcome], str]]] = {
    "data set": lambda outcome: outcome.photo.group,
    "plate width": _width,
    "shape": _shape,
    "country": _country,
}
"""Tables by name, each with the function that returns the class of an outcome."""
