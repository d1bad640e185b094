"""Loads labelled photos, the input of an evaluation."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import InvalidInputError
from common.plates.normalise import normalise_plate
from recognition.types import Box


@dataclass(frozen=True)
class LabelledPlate:
    """A plate boxed by a person. ``text`` is A-Z0-9 with joined rows, or empty if unknown."""

    text: str
    uncertain: bool
    box: Box
    region: str | None

    @property
    def certain(self) -> bool:
        """Whether the text is known."""
        return bool(self.text) and not self.uncertain


@dataclass(frozen=True)
class Photo:
    """A photo. ``exhaustive``: every visible plate is boxed. Missing sizes are 0."""

    name: str
    path: Path
    width: int
    height: int
    plates: tuple[LabelledPlate, ...]
    exhaustive: bool

    @property
    def group(self) -> str:
        """The photo's data set, which is the name of its folder."""
        return self.path.parent.name


def load_photo_file(path: Path, split: str | None = None) -> list[Photo]:
    """Return the photos of a JSON Lines file, in order, optionally only the photos of one split.

    Each object must contain ``image`` (a path relative to the file's folder) and ``plates`` (can be
    empty). Each plate must contain ``box`` (x1, y1, x2, y2 in pixels) and, if known, ``text``.

    Raises:
        InvalidInputError: the file cannot be read, or a line does not contain such an object.
    """
    try:
        rows = list(json_lines(path))
        return [_photo(path.parent, row) for row in rows if split in (None, row.get("split"))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"{path} is not a photo list ({type(error).__name__}: {error})", code="invalid_photos"
        ) from error


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a JSON Lines file. Empty lines are skipped."""
    with path.open(encoding="utf-8-sig") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _photo(folder: Path, row: dict[str, Any]) -> Photo:
    plates = tuple(
        # Remove the label's spaces and dashes, because the engine's texts have none.
        LabelledPlate(
            normalise_plate(str(plate.get("text") or "")),
            plate.get("uncertain", False),
            _box(plate["box"]),
            plate.get("region"),
        )
        for plate in row["plates"]
    )
    return Photo(
        row["image"],
        folder / row["image"],
        row.get("width", 0),
        row.get("height", 0),
        plates,
        row.get("exhaustive", False),
    )


def _box(values: list[float]) -> Box:
    x1, y1, x2, y2 = values
    return x1, y1, x2, y2
