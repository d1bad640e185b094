"""Texts read of changed photos: close-ups, hanging, far and badly seen plates; and where none is.

    python -m tools.benchmarks.changed_photos PHOTOS.jsonl [--split val] [--without FOLDER]...

``PHOTOS`` are labelled as ``platestream evaluate`` takes them. Each certain plate is cut out with
so much of its width around it on each side; the photos are turned (the picture rotates) and
slanted (level lines hang, upright ones stay) either way; several are put side by side, so that the
detector sees them shrunk; and they are seen worse: without colour, dark, noisy, blurred, and so on.
``FOLDER`` has pictures without a plate, in folders of any depth: on how many of them is a reading
reported; look-alikes count once, and of each of its subfolders 800 at most. In close-ups, what is
read of neighbours counts as "no labelled plate". Prints Markdown tables.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from common.settings import load_settings
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage, Box
from tools.evaluation.photos import Photo, Plate, load_photo_file
from tools.evaluation.run import Looked, look_at_pixels, pairs
from tools.evaluation.scoring import calibration_error
from tools.training.other_pictures import pictures

AROUND = (0.0, 0.05, 0.15, 0.3, 0.5, 0.75, 1.0, 1.5)
"""Shares of a plate's width that a close-up shows on each side of it."""

TURNS, SLANTS = (8.0, 14.0), (10.0,)
"""Degrees, either way."""

MOSAICS, PART_PX, MOSAIC_GREY, MOSAIC_SEED = (2, 3), (640, 480), 90, 5
"""Photos across and down, each of this width and height at most, in an order that is no one's."""

NOISE_SEED = 7

SURE = 0.5

Change = npt.NDArray[np.float64]
"""Two rows and three columns, as OpenCV takes them."""


class Changed(NamedTuple):
    """A photo with its plates where they are after the change, and its pixels."""

    photo: Photo
    image: BgrImage


def close_ups(photo: Photo, image: BgrImage, around: float) -> Iterator[Changed]:
    """Yield each certain plate with its surroundings, as far as the photo shows them."""
    height, width = image.shape[:2]
    for plate in photo.plates:
        if not plate.text or plate.uncertain:
            continue
        left, top, right, bottom = plate.box
        margin = around * (right - left)
        x, y = int(max(0.0, left - margin)), int(max(0.0, top - margin))
        x_end, y_end = round(min(width, right + margin)), round(min(height, bottom + margin))
        part = np.ascontiguousarray(image[y:y_end, x:x_end])
        alone = replace(plate, box=(left - x, top - y, right - x, bottom - y))
        yield Changed(replace(photo, plates=(alone,)), part)


def turned(image: BgrImage, degrees: float) -> Change:
    """Return the turn of a picture round its middle."""
    height, width = image.shape[:2]
    return np.asarray(cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0), np.float64)


def slanted(image: BgrImage, degrees: float) -> Change:
    """Return the shear that lets level lines hang by so much."""
    fall = np.tan(np.radians(degrees))
    return np.array([[1.0, 0.0, 0.0], [fall, 1.0, -fall * image.shape[1] / 2]])


def changed(photo: Photo, image: BgrImage, change: Change) -> Changed:
    """Change a photo; its plates' boxes are the level ones around what became of theirs."""
    height, width = image.shape[:2]
    pixels = cv2.warpAffine(image, change, (width, height), borderMode=cv2.BORDER_REFLECT)
    plates = tuple(replace(plate, box=_around(plate, change)) for plate in photo.plates)
    return Changed(replace(photo, plates=plates), np.asarray(pixels, np.uint8))


def mosaic(parts: list[Changed], across: int) -> Changed:
    """Put photos side by side, ``across`` in a row, each as large as its place lets it be."""
    width, height = PART_PX
    rows = -(-len(parts) // across)
    image = np.full((rows * height, across * width, 3), MOSAIC_GREY, np.uint8)
    plates = list[Plate]()
    for place, part in enumerate(parts):
        top, left = (place // across) * height, (place % across) * width
        scale = min(width / part.image.shape[1], height / part.image.shape[0])
        method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        sized = cv2.resize(part.image, None, fx=scale, fy=scale, interpolation=method)
        sized = sized[:height, :width]
        image[top : top + sized.shape[0], left : left + sized.shape[1]] = sized
        there = np.array([[scale, 0.0, left], [0.0, scale, top]])
        plates += [replace(plate, box=_around(plate, there)) for plate in part.photo.plates]
    return Changed(replace(parts[0].photo, plates=tuple(plates)), image)


def noisy(image: BgrImage, levels: float, brightness: float = 1.0) -> BgrImage:
    """Return a picture so much as bright, with noise of so many grey levels (deviation)."""
    noise = np.random.default_rng(NOISE_SEED).normal(0, levels, image.shape)
    return np.asarray(np.clip(image * brightness + noise, 0, 255), np.uint8)


def compressed(image: BgrImage, quality: int) -> BgrImage:
    """Return what a JPEG of this quality, 0 to 100, keeps of a picture."""
    return decode_image(
        cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes()
    )


def coarse(image: BgrImage, share: float) -> BgrImage:
    """Return a picture made larger again from this share of its width and height."""
    small = cv2.resize(image, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, image.shape[1::-1]), np.uint8)


WORSE: dict[str, Callable[[BgrImage], BgrImage]] = {
    "without colour": lambda i: np.repeat(cv2.cvtColor(i, cv2.COLOR_BGR2GRAY)[..., None], 3, 2),
    "negative": lambda i: 255 - i,
    "0.3 of the light, noise of 5 levels": lambda i: noisy(i, 5.0, 0.3),
    "1.5 times the light and 30 levels": lambda i: np.asarray(
        np.clip(i * 1.5 + 30, 0, 255), np.uint8
    ),
    "noise of 20 levels": lambda i: noisy(i, 20.0),
    "blurred by 1.2 px": lambda i: np.asarray(cv2.GaussianBlur(i, (0, 0), 1.2), np.uint8),
    "0.6 of the pixels' width": lambda i: coarse(i, 0.6),
    "JPEG of quality 20": lambda i: compressed(i, 20),
    "JPEG of quality 10": lambda i: compressed(i, 10),
}
"""How a picture may be seen worse."""


def _around(plate: Plate, change: Change) -> Box:
    left, top, right, bottom = plate.box
    corners = np.array([(x, y, 1.0) for x in (left, right) for y in (top, bottom)]) @ change.T
    (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
    return float(left), float(top), float(right), float(bottom)


def _row(name: str, looked: list[Looked]) -> str:
    if not looked:
        return f"| {name} |" + " – |" * 5
    plates = [outcome for one in looked for outcome in one.outcomes]
    found = sum(outcome.found for outcome in plates)
    certain = [outcome for outcome in plates if outcome.certain]
    read = sum(outcome.exact for outcome in certain)
    beside = sum(len(one.invented) for one in looked)
    error = calibration_error(pairs(looked))
    ms = sum(one.cpu_ms for one in looked) / len(looked)
    return (
        f"| {name} | {found} of {len(plates)} | {read} of {len(certain)} | {error:.1%} | {beside} "
        f"| {ms:.0f} ms |"
    )


def _decoded(photos: list[Photo]) -> Iterator[Changed]:
    for photo in photos:
        yield Changed(photo, decode_image(photo.path.read_bytes()))


def _both_ways(
    photos: list[Photo], make: Callable[[BgrImage, float], Change], degrees: float
) -> Iterator[Changed]:
    for photo, image in _decoded(photos):
        for way in (degrees, -degrees):
            yield changed(photo, image, make(image, way))


def _close_ups(photos: list[Photo], around: float) -> Iterator[Changed]:
    for photo, image in _decoded(photos):
        yield from close_ups(photo, image, around)


def _mosaics(photos: list[Photo], across: int) -> Iterator[Changed]:
    order = np.random.default_rng(MOSAIC_SEED).permutation(len(photos))
    for start in range(0, len(order) - across**2 + 1, across**2):
        chosen = [photos[i] for i in order[start : start + across**2]]
        yield mosaic([*_decoded(chosen)], across)


def _all(photos: list[Photo]) -> Iterator[tuple[str, Iterator[Changed]]]:
    yield "as they are", _decoded(photos)
    for around in AROUND:
        yield f"close-ups, {around:.0%} around", _close_ups(photos, around)
    for degrees in TURNS:
        yield f"turned by ±{degrees:.0f}°", _both_ways(photos, turned, degrees)
    for degrees in SLANTS:
        yield f"slanted by ±{degrees:.0f}°", _both_ways(photos, slanted, degrees)
    for across in MOSAICS:
        yield f"{across**2} in one picture", _mosaics(photos, across)
    for name, worsen in WORSE.items():
        yield name, (one._replace(image=worsen(one.image)) for one in _decoded(photos))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", type=Path)
    parser.add_argument("--split")
    parser.add_argument("--without", type=Path, action="append", default=[])
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    recognizer = Recognizer(load_settings(RecognizerSettings))
    print(
        "| photos | found | read | calibration error | readings at no labelled plate "
        "| processor time, decoding apart |"
    )
    print("|---" * 6 + "|")
    together: list[Looked] = []
    for name, made in _all(load_photo_file(arguments.photos, arguments.split)):
        looked = [look_at_pixels(one.photo, one.image, recognizer)[0] for one in made]
        print(_row(name, looked), flush=True)
        if name.startswith("close-ups"):
            together += looked
    print(_row("all close-ups", together))
    print(f"\n| without a plate | pictures | with a reading | sure by {SURE} |\n|---|---|---|---|")
    for folder in arguments.without:
        found = [
            [one.confidence for one in recognizer.recognize(each)] for each in pictures(folder)
        ]
        sure = sum(max(each, default=0.0) >= SURE for each in found)
        print(f"| {folder.name} | {len(found)} | {sum(map(bool, found))} | {sure} |", flush=True)


if __name__ == "__main__":
    main()
