"""Images and crops that the models learn from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from recognition.evaluation.photos import LabelledPlate as Plate
from recognition.evaluation.photos import Photo, json_lines, load_photo_file

__all__ = [
    "Card",
    "Crop",
    "Image",
    "Photo",
    "Plate",
    "as_image",
    "load_lone_crops",
    "load_photos",
    "read_image",
]

Image = npt.NDArray[np.uint8]
"""H×W×3, uint8, RGB."""

Card = dict[str, Any]
"""A model card, or another JSON object, as it lies in its file."""


@dataclass(frozen=True)
class Crop:
    """One plate image of ``crops.jsonl`` that belongs to no photo, with its certain text."""

    name: str
    path: Path
    text: str
    region: str | None


def load_photos(folder: Path, split: str) -> list[Photo]:
    """The photos of one split (``train`` or ``val``) of ``scenes.jsonl``, in its order."""
    return load_photo_file(folder / "scenes.jsonl", split)


def load_lone_crops(folder: Path, split: str) -> list[Crop]:
    """The crops of one split that were not cut from one of the photos and whose text is certain."""
    return [
        Crop(row["image"], folder / row["image"], row["text"], row.get("region"))
        for row in json_lines(folder / "crops.jsonl")
        if row["split"] == split and not row.get("scene") and not row["uncertain"] and row["text"]
    ]


def as_image(values: npt.NDArray[Any]) -> Image:
    """``values``, 0–255, as uint8: what OpenCV returns has no element type for a type checker."""
    return np.asarray(values, dtype=np.uint8)


def read_image(path: Path) -> Image:
    """The image as H×W×3 uint8 RGB. Raises OSError where it cannot be decoded."""
    image = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if image is None:
        raise OSError(f"cannot decode {path}")
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), dtype=np.uint8)
