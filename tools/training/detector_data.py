"""Creates the detector's training data from photos and their completed labels."""

import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from recognition.evaluation.photos import Photo
from recognition.models.third_party_models import DEFAULT_GREY
from recognition.types import Box, grown, overlap_coefficient
from tools.training.labels import Labels
from tools.training.photos import Image, as_image, read_image
from tools.training.staging import exchange_plates, floating_plates
from tools.training.writing import add_writing, screen

PLATE_FREE_SHARE = 0.3
"""Fraction of photos from which a part without plates is cut out and added as another photo."""

WRITING_SHARE = 0.5
"""Fraction of parts without plates to which signs, phone numbers and time stamps are added."""

EXCHANGED_SHARE = 0.2
"""Fraction of photos that are repeated with rendered plates instead of the photographed plates."""

KEPT_BACK_PERCENT = 6
"""Percentage of training photos (by plate text) held out to fit the plate probability.

The photos are a subset of those that the reader's training holds out, so no model of the engine has
been trained on them.
"""

STEEP_SHARE = 0.2
"""Fraction of photos that are repeated as if seen at a steep angle from the side."""

STEEP_WIDTHS, STEEP_SLOPES = (0.35, 0.75), (0.15, 0.55)
"""Ranges of the relative width of steep copies, and of the rise or fall per horizontal pixel."""

FEW_PHOTOS = 300
"""Number of training photos below which a data set is repeated, because large sets vary little."""

PLATE_FREE_MIN_PX = 160
JPEG_QUALITY = 92


@dataclass(frozen=True)
class Drawn:
    """Numbers of rendered images: plates without a car, and screens with buttons and tables."""

    floating: int = 400
    screens: int = 300


def kept_back(photo: Photo) -> bool:
    """Return whether the photo is excluded from all training, because it shows a held-out plate."""
    texts = {p.text for p in photo.plates if p.text} or {photo.name}
    return any(zlib.crc32(text.encode()) % 100 < KEPT_BACK_PERCENT for text in texts)


def write_dataset(
    photos: list[Photo], labels: dict[str, Labels], out: Path, split: str, seed: int, drawn: Drawn
) -> None:
    """Write ``out/images/split`` and ``out/labels/split``, one file per photo.

    Doubtful plates in training photos are blurred. Parts without plates, copies with rendered
    plates, copies seen at a steep angle and, for small data sets, plain copies are added. Held-out
    photos are skipped. Rendered plates without a car and rendered screens are added last.
    """
    rng = np.random.default_rng(seed)
    sizes = Counter(photo.group for photo in photos)
    for part in ("images", "labels"):
        (out / part / split).mkdir(parents=True, exist_ok=True)
    for index, photo in enumerate(photos):
        image, label = read_image(photo.path), labels[photo.name]
        if split == "train":
            if kept_back(photo):
                continue
            image = mask(image, label.masked)
            free = plate_free_part(photo, label, rng)
            if free and rng.random() < PLATE_FREE_SHARE:
                _write(out, split, f"{index:05d}_free", _plate_free(image, free, rng), ())
            if rng.random() < EXCHANGED_SHARE:
                staged = exchange_plates(image, label.plates, rng)
                _write(out, split, f"{index:05d}_exchanged", staged.image, staged.plates)
            if rng.random() < STEEP_SHARE:
                _write(out, split, f"{index:05d}_steep", *steep(image, label.plates, rng))
            if sizes[photo.group] < FEW_PHOTOS:
                _write(out, split, f"{index:05d}_again", image, label.plates)
        _write(out, split, f"{index:05d}", image, label.plates)
    if split == "train":
        for index in range(drawn.floating):
            staged = floating_plates(rng)
            _write(out, split, f"floating_{index:05d}", staged.image, staged.plates)
        for index in range(drawn.screens):
            _write(out, split, f"screen_{index:05d}", screen(rng), ())


def write_others(others: Path, out: Path) -> None:
    """Add a folder's JPEG images, which must not show plates, to the training photos."""
    for index, path in enumerate(sorted(others.glob("*.jpg"))):
        _write(out, "train", f"other_{index:05d}", read_image(path), ())


def write_description(out: Path) -> Path:
    """Write the data set description for ultralytics. Return the path."""
    path = out / "data.yaml"
    path.write_text(
        f"path: {out.resolve()}\ntrain: images/train\nval: images/val\nnames:\n  0: plate\n"
    )
    return path


def mask(image: Image, boxes: tuple[Box, ...]) -> Image:
    """Return a copy of ``image`` in which ``boxes``, slightly enlarged, are blurred."""
    image = image.copy()
    height, width = image.shape[:2]
    for box in boxes:
        x1, y1, x2, y2 = (round(v) for v in grown(box, 0.15, 0.25, width, height))
        if x2 > x1 and y2 > y1:
            part = image[y1:y2, x1:x2]
            image[y1:y2, x1:x2] = cv2.blur(part, (max(3, x2 - x1), max(3, y2 - y1)))
    return image


def steep(
    image: Image, boxes: tuple[Box, ...], rng: np.random.Generator
) -> tuple[Image, tuple[Box, ...]]:
    """Return ``image``, narrowed and slanted like the front of a car seen from the side, and boxes.

    Each box contains a whole slanted plate. The photos themselves mostly show level plates.
    """
    height, width = image.shape[:2]
    narrow = rng.uniform(*STEEP_WIDTHS)
    slope = rng.uniform(*STEEP_SLOPES) * rng.choice([-1, 1])
    out_width = round(width * narrow)
    lift = max(0.0, -slope * out_width)
    out_height = round(height + abs(slope) * out_width)
    shape = np.array([[narrow, 0, 0], [slope * narrow, 1, lift]])
    grey = (DEFAULT_GREY,) * 3
    slanted = cv2.warpAffine(
        image, shape, (out_width, out_height), flags=cv2.INTER_AREA, borderValue=grey
    )
    return as_image(slanted), tuple(_slanted(box, shape) for box in boxes)


def _slanted(box: Box, shape: npt.NDArray[np.float64]) -> Box:
    x1, y1, x2, y2 = box
    corners = np.array([[x1, y1, 1], [x2, y1, 1], [x1, y2, 1], [x2, y2, 1]]) @ shape.T
    (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
    return float(left), float(top), float(right), float(bottom)


def plate_free_part(
    photo: Photo, label: Labels, rng: np.random.Generator
) -> tuple[int, int, int, int] | None:
    """Return a random part (x1, y1, x2, y2 px) without a known or doubtful plate, or None."""
    for _ in range(12):
        width = int(photo.width * rng.uniform(0.35, 0.9))
        height = int(photo.height * rng.uniform(0.35, 0.9))
        if min(width, height) < PLATE_FREE_MIN_PX:
            continue
        x1 = int(rng.integers(0, photo.width - width + 1))
        y1 = int(rng.integers(0, photo.height - height + 1))
        part = (x1, y1, x1 + width, y1 + height)
        if not any(overlap_coefficient(part, box) for box in label.plates + label.masked):
            return part
    return None


def _plate_free(image: Image, part: tuple[int, int, int, int], rng: np.random.Generator) -> Image:
    x1, y1, x2, y2 = part
    cut = image[y1:y2, x1:x2]
    if rng.random() < WRITING_SHARE:
        cut = add_writing(cut, (), rng, int(rng.integers(1, 4)))
    return cut


def _write(out: Path, split: str, stem: str, image: Image, boxes: tuple[Box, ...]) -> None:
    height, width = image.shape[:2]
    cv2.imwrite(
        str(out / "images" / split / f"{stem}.jpg"),
        cv2.cvtColor(image, cv2.COLOR_RGB2BGR),
        [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY],
    )
    lines = [_line(grown(box, 0, 0, width, height), width, height) for box in boxes]
    (out / "labels" / split / f"{stem}.txt").write_text("".join(lines))


def _line(box: Box, width: int, height: int) -> str:
    x, y = (box[0] + box[2]) / 2 / width, (box[1] + box[3]) / 2 / height
    return f"0 {x:.6f} {y:.6f} {(box[2] - box[0]) / width:.6f} {(box[3] - box[1]) / height:.6f}\n"
