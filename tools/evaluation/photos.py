"""Labelled photos: what the models learn from and are measured on."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from common.errors import InvalidInputError
from common.plates.normalise import normalise_plate
from recognition.types import Box

Image = npt.NDArray[np.uint8]
"""H×W×3, uint8, RGB."""

Card = dict[str, Any]
"""A model card, or another JSON object, as it lies in its file."""


@dataclass(frozen=True)
class Plate:
    """A plate that a person boxed. ``text`` is A-Z0-9, two rows joined; empty where unknown."""

    text: str
    uncertain: bool
    box: Box
    region: str | None


@dataclass(frozen=True)
class Photo:
    """One photo. ``exhaustive``: every visible plate is boxed. Sizes are 0 where not given."""

    name: str
    path: Path
    width: int
    height: int
    plates: tuple[Plate, ...]
    exhaustive: bool

    @property
    def group(self) -> str:
        """The data set that the photo comes from: the folder that it lies in."""
        return self.path.parent.name


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


def load_photo_file(path: Path, split: str | None = None) -> list[Photo]:
    """The photos that a file names, a JSON object a line, in its order; of one split if given.

    Needed are ``image`` (a path from the file's folder) and ``plates``, which may be none, each
    with ``box`` (x1, y1, x2, y2 in pixels) and, where it is known, ``text``.

    Raises:
        InvalidInputError: the file cannot be read, or a line is no such object.
    """
    try:
        rows = list(_lines(path))
        return [_photo(path.parent, row) for row in rows if split in (None, row.get("split"))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"{path} is no list of photos ({type(error).__name__}: {error})", code="invalid_photos"
        ) from error


def load_lone_crops(folder: Path, split: str) -> list[Crop]:
    """The crops of one split that were not cut from one of the photos and whose text is certain."""
    return [
        Crop(row["image"], folder / row["image"], row["text"], row.get("region"))
        for row in _lines(folder / "crops.jsonl")
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


def _lines(path: Path) -> Iterator[Card]:
    with path.open(encoding="utf-8-sig") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _photo(folder: Path, row: Card) -> Photo:
    plates = tuple(
        Plate(_text(p), p.get("uncertain", False), _box(p["box"]), p.get("region"))
        for p in row["plates"]
    )
    return Photo(
        row["image"],
        folder / row["image"],
        row.get("width", 0),
        row.get("height", 0),
        plates,
        row.get("exhaustive", False),
    )


def _text(plate: Card) -> str:
    """The plate's text as the engine writes them, whatever spaces and dashes the label has."""
    return normalise_plate(str(plate.get("text") or ""))


def _box(values: list[float]) -> Box:
    x1, y1, x2, y2 = values
    return x1, y1, x2, y2
