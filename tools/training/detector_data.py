"""Turns photos and completed labels into the folder that the detector trains from."""

import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from recognition.evaluation.photos import Photo
from recognition.models.third_party_models import DEFAULT_GREY
from recognition.types import Box, grown, overlaps
from tools.training.labels import Labels
from tools.training.photos import Image, as_image, read_image
from tools.training.staging import exchange_plates, floating_plates
from tools.training.writing import add_writing, screen

PLATE_FREE_SHARE = 0.3
"""Of the photos, the share from which a part without any plate is cut as one more photo."""

WRITING_SHARE = 0.5
"""Of those parts, the share on which signs, phone numbers and time stamps are put."""

EXCHANGED_SHARE = 0.2
"""Of the photos, the share that comes once more with rendered plates in place of its own."""

KEPT_BACK_PERCENT = 6
"""Of the training photos (by plate text), those kept back to fit what is no plate.

A part of those that the reader's training keeps back, so that the whole engine has not seen them.
"""

STEEP_SHARE = 0.2
"""Of the photos, the share that comes once more as if seen steeply from the side."""

STEEP_WIDTHS, STEEP_SLOPES = (0.35, 0.75), (0.15, 0.55)
"""How much narrower it is then, and by how much of each pixel to the right it rises or falls."""

FEW_PHOTOS = 300
"""A data set with fewer training photos comes twice: the large ones are of few kinds."""

PLATE_FREE_MIN_PX = 160
JPEG_QUALITY = 92


@dataclass(frozen=True)
class Drawn:
    """How many pictures are drawn: of plates without a car, and of buttons, rows and columns."""

    floating: int = 400
    screens: int = 300


def kept_back(photo: Photo) -> bool:
    """Whether no training sees the photo, because it shows a plate that is kept back."""
    texts = {p.text for p in photo.plates if p.text} or {photo.name}
    return any(zlib.crc32(text.encode()) % 100 < KEPT_BACK_PERCENT for text in texts)


def write_dataset(
    photos: list[Photo], labels: dict[str, Labels], out: Path, split: str, seed: int, drawn: Drawn
) -> None:
    """Write ``out/images/split`` and ``out/labels/split``, one file a photo.

    Training photos have their doubtful plates blurred away and are followed by plate-free cuts,
    by copies with rendered plates and by copies seen steeply, those of small data sets by
    themselves; the photos kept back are left out. Drawn plates without a car and drawn screens
    come last.
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
    """Write a folder's JPEG pictures, which show no plate, beside the training photos."""
    for index, path in enumerate(sorted(others.glob("*.jpg"))):
        _write(out, "train", f"other_{index:05d}", read_image(path), ())


def write_description(out: Path) -> Path:
    """Write the dataset description for ultralytics; its path."""
    path = out / "data.yaml"
    path.write_text(
        f"path: {out.resolve()}\ntrain: images/train\nval: images/val\nnames:\n  0: plate\n"
    )
    return path


def mask(image: Image, boxes: tuple[Box, ...]) -> Image:
    """A copy of ``image`` in which ``boxes``, slightly grown, are blurred beyond reading."""
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
    """``image`` squeezed and slanted as a car's front is when seen from beside it, and its boxes.

    They hold the slanted plates whole: most plates of the photos are level in their boxes.
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
    """A random part (x1, y1, x2, y2 px) that holds no plate, known or doubtful; None if none."""
    for _ in range(12):
        width = int(photo.width * rng.uniform(0.35, 0.9))
        height = int(photo.height * rng.uniform(0.35, 0.9))
        if min(width, height) < PLATE_FREE_MIN_PX:
            continue
        x1 = int(rng.integers(0, photo.width - width + 1))
        y1 = int(rng.integers(0, photo.height - height + 1))
        part = (x1, y1, x1 + width, y1 + height)
        if not any(overlaps(part, box) for box in label.plates + label.masked):
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
