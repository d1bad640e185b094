"""Loads the photos for training the models."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from recognition.evaluation.photos import Photo, load_photo_file

Image = npt.NDArray[np.uint8]
"""An image as H×W×3 values of type uint8, in RGB order."""


def load_photos(folder: Path, split: str) -> list[Photo]:
    """Return the photos of a split (``train`` or ``val``) in the order of ``scenes.jsonl``."""
    return load_photo_file(folder / "scenes.jsonl", split)


def as_image(values: npt.NDArray[Any]) -> Image:
    """Return values from 0 to 255 as uint8. OpenCV's type annotations do not specify the type."""
    return np.asarray(values, dtype=np.uint8)


def read_image(path: Path) -> Image:
    """Return the image in a file.

    Raises:
        OSError: the file cannot be decoded.
    """
    image = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if image is None:
        raise OSError(f"cannot decode {path}")
    return as_image(cv2.cvtColor(image, cv2.COLOR_BGR2RGB))
