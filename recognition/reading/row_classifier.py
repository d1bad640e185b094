"""Distinguishes plates with two rows from plates with one row by the strokes in a crop.

Characters consist mostly of vertical strokes. A plate with two rows has many horizontal changes in
each half and few in between. A plate with one row has most changes in the middle. A logistic
regression uses the changes at sixteen heights of five parts of the crop, and the crop's shape.
"""

from pathlib import Path
from typing import Annotated

import cv2
import msgspec
import numpy as np

from common.errors import MisconfiguredError
from recognition.reading.crops import cut_plate, cut_turned
from recognition.settings import MODELS
from recognition.types import BgrImage, Detection, FloatArray

_SIZE_PX = (96, 32)
_PARTS, _PART_PX, _PART_HEIGHTS = 5, 19, 16
_FAINT = 2.0
"""Changes of fewer grey levels than this hardly count."""

FEATURE_COUNT = 2 + _SIZE_PX[1] + _PARTS * _PART_HEIGHTS


class RowClassifierCard(msgspec.Struct, frozen=True, kw_only=True):
    """Weights of :func:`stroke_profile`. A plate has two rows if the weighted sum is above 0.

    Boxes with a ratio of width to height of ``widest`` or more count as one row. So do boxes
    narrower than ``least_width_px``, in which rows cannot be distinguished.
    """

    weights: Annotated[
        tuple[float, ...], msgspec.Meta(min_length=FEATURE_COUNT, max_length=FEATURE_COUNT)
    ]
    widest: float
    least_width_px: float


class RowClassifier:
    """A logistic regression, fitted to plates whose rows were counted by people."""

    def __init__(self, card: RowClassifierCard) -> None:
        """Use the weights in a card."""
        self._card = card
        self._weights = np.array(card.weights)

    @classmethod
    def load(cls, path: Path = MODELS / "plate-rows.json") -> "RowClassifier":
        """Load the weights from a file, by default the built-in weights.

        Raises:
            MisconfiguredError: the file is missing or invalid.
        """
        try:
            return cls(msgspec.json.decode(path.read_bytes(), type=RowClassifierCard))
        except (OSError, msgspec.MsgspecError) as error:
            raise MisconfiguredError(f"{path} has no valid row weights: {error}") from error

    def has_two_rows(self, image: BgrImage, found: Detection, degrees: float = 0.0) -> bool:
        """Return whether a plate has two rows. ``degrees`` is the plate's clockwise tilt."""
        is_flat = found.width_px >= self._card.widest * found.height_px
        if is_flat or found.width_px < self._card.least_width_px:
            return False
        return bool(stroke_profile(image, found, degrees) @ self._weights > 0)


def stroke_profile(image: BgrImage, found: Detection, degrees: float = 0.0) -> FloatArray:
    """Return :data:`FEATURE_COUNT` values of a plate: 1, its shape, and its strokes at each height.

    Strokes are mean changes between neighbouring pixels in a row, as fractions of the mean change
    in the whole crop, then in each part. A tilted plate is first rotated upright.
    """
    if degrees:
        crop = cut_turned(image, found, 0.0, 0.0, degrees)
        width, height = float(crop.shape[1]), float(crop.shape[0])
    else:
        crop = cut_plate(image, found, 0.0, 0.0)
        width, height = found.width_px, found.height_px
    method = cv2.INTER_AREA if crop.shape[0] > _SIZE_PX[1] else cv2.INTER_CUBIC
    sized = np.asarray(cv2.resize(crop, _SIZE_PX, interpolation=method), np.uint8)
    small = cv2.cvtColor(sized, cv2.COLOR_BGR2GRAY).astype(np.float32)
    strokes = cv2.GaussianBlur(np.abs(np.diff(small, axis=1)), (0, 0), 1)
    parts = strokes.reshape(_SIZE_PX[1], _PARTS, _PART_PX).mean(axis=2).T
    shares = parts / (parts.mean(axis=1, keepdims=True) + _FAINT)
    halved = shares.reshape(_PARTS, _PART_HEIGHTS, 2).mean(axis=2)
    return np.concatenate([[1.0, np.log(width / height)], shares.mean(axis=0), halved.ravel()])
