"""Creates kinds of images that the photos lack: plates of other countries or without a car."""

from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt

from recognition.types import Box
from tools.synthetic.layouts import LAYOUTS, Band, Colour, Gap
from tools.synthetic.plates import Plate, random_plate
from tools.training.photos import Image, as_image
from tools.training.writing import add_writing, triple, two_colours

SMALLEST_PX = 24
"""Minimum width of plates to replace, because the layout of narrower plates is not visible."""

GROUND_WIDTH, GROUND_HEIGHT = 640, (360, 641)
FLOATING_WIDTHS = (40, 280)
"""Width range of plates without a car. Each image has one width, but tall plates are narrower."""

MAX_FLOATING = 25

MADE_TO_ORDER_SHARE = 0.12
"""Fraction of rendered plates whose background is much larger than the lettering."""

LARGER_GROUND = (1.1, 2.0), (1.0, 1.7)
"""Ranges of factors for the background's width and height on made-to-order plates."""

LEAST_CONTRAST = 60
"""Minimum contrast between background and letters of made-to-order plates, in grey levels."""

GREATEST_ASPECT = 6.5
CORNER_SHIFT = 0.03


@dataclass(frozen=True)
class Staged:
    """A changed photo, and the boxes of all plates in the photo."""

    image: Image
    plates: tuple[Box, ...]


def exchange_plates(image: Image, plates: tuple[Box, ...], rng: np.random.Generator) -> Staged:
    """Return the photo with its larger plates replaced by rendered plates in the same light."""
    image, boxes = image.copy(), []
    for box in plates:
        wide = box[2] - box[0] >= SMALLEST_PX and box[2] - box[0] < GREATEST_ASPECT * _height(box)
        boxes.append(_exchange(image, box, rng) if wide else box)
    return Staged(image, tuple(boxes))


def floating_plates(rng: np.random.Generator) -> Staged:
    """Return rendered plates on a plain background without a car, half of the time with text.

    Some cameras see only bumpers, and the car must not be what distinguishes plates from signs.
    """
    height = int(rng.integers(*GROUND_HEIGHT))
    image, boxes = _ground(GROUND_WIDTH, height, rng), []
    wide = int(rng.uniform(*FLOATING_WIDTHS))
    columns, rows = max(1, GROUND_WIDTH // round(1.4 * wide)), max(1, height // round(0.9 * wide))
    cells = rng.permutation(columns * rows)[: int(rng.integers(1, MAX_FLOATING))]
    for row, column in (divmod(int(cell), columns) for cell in cells):
        plate = _some_plate(rng)
        high = min(0.7 * wide, wide * plate.image.shape[0] / plate.image.shape[1])
        size = (round(high * plate.image.shape[1] / plate.image.shape[0]), max(6, round(high)))
        x = int((column + rng.uniform(0.0, 0.28)) * GROUND_WIDTH / columns)
        y = int((row + rng.uniform(0.0, 0.2)) * height / rows)
        part = image[y : y + size[1], x : x + size[0]]
        seen = (slice(part.shape[0]), slice(part.shape[1]))
        front = as_image(cv2.resize(plate.image[..., ::-1], size, interpolation=cv2.INTER_AREA))
        alpha = cv2.resize(plate.alpha, size, interpolation=cv2.INTER_AREA)[..., None]
        lit = _coloured(front, rng) * rng.uniform(0.55, 1.05)
        part[:] = (part * (1 - alpha[seen]) + lit[seen] * alpha[seen]).clip(0, 255)
        boxes.append((float(x), float(y), float(x + part.shape[1]), float(y + part.shape[0])))
    if rng.random() < 0.5:
        image = add_writing(image, tuple(boxes), rng, int(rng.integers(1, 5)))
    return Staged(image, tuple(boxes))


def _ground(width: int, height: int, rng: np.random.Generator) -> Image:
    """Return an image of an uneven surface of a random colour, with noise."""
    colour = rng.uniform(0, 255) + rng.normal(0, 25, 3)
    few = np.clip(colour + rng.normal(0, rng.uniform(0, 40), (3, 3, 1)), 0, 255).astype(np.uint8)
    smooth = cv2.resize(few, (width, height), interpolation=cv2.INTER_CUBIC).astype(np.float32)
    noise = rng.normal(0, rng.uniform(0, 8), smooth.shape)
    return as_image(np.clip(smooth + noise, 0, 255))


def made_to_order(rng: np.random.Generator) -> Plate:
    """Return a plate without a country's marks, on a larger background than necessary."""
    layout = LAYOUTS[int(rng.integers(len(LAYOUTS)))]
    ink, ground = _colours_apart(rng)
    sides = [rng.uniform(*times) for times in LARGER_GROUND]
    return random_plate(
        rng,
        replace(
            layout,
            code="made_to_order",
            gaps=tuple(tuple(map(_unmarked, row)) for row in layout.gaps),
            width_mm=layout.width_mm * sides[0],
            height_mm=layout.height_mm * sides[1],
            background=ground,
            ink=ink,
            band=Band.NONE,
            border=bool(rng.random() < 0.5),
        ),
    )


def _unmarked(gap: Gap) -> Gap:
    return Gap.SPACE if gap is Gap.SEALS else gap


def _colours_apart(rng: np.random.Generator) -> tuple[Colour, Colour]:
    """Return two random colours that also differ enough in brightness."""
    while True:
        one, other = two_colours(rng)
        if abs(float(one.max()) - float(other.max())) >= LEAST_CONTRAST:
            return triple(one), triple(other)


def _some_plate(rng: np.random.Generator) -> Plate:
    return made_to_order(rng) if rng.random() < MADE_TO_ORDER_SHARE else random_plate(rng)


def _exchange(image: Image, box: Box, rng: np.random.Generator) -> Box:
    corners = _corners(box, plate := _some_plate(rng), rng)
    x1, y1 = np.floor(corners.min(axis=0)).astype(int) - 2
    x2, y2 = np.ceil(corners.max(axis=0)).astype(int) + 3
    x1, y1, x2, y2 = max(0, x1), max(0, y1), min(image.shape[1], x2), min(image.shape[0], y2)
    part = image[y1:y2, x1:x2]
    front, alpha = _seen(plate, corners - [x1, y1], (x2 - x1, y2 - y1))
    front = _lit(_coloured(front, rng), part, rng)
    _wipe(image, box)
    if rng.random() < 0.5:
        spread = float(rng.uniform(0.3, 0.012 * (x2 - x1) + 0.5))
        front = np.asarray(cv2.GaussianBlur(front, (0, 0), spread), np.float32)
    part[:] = (part * (1 - alpha) + front * alpha).astype(np.uint8)
    (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
    return (
        float(max(left, 0)),
        float(max(top, 0)),
        float(min(right, image.shape[1])),
        float(min(bottom, image.shape[0])),
    )


def _wipe(image: Image, box: Box) -> None:
    """Blur the old plate, because the new plate may not cover the old plate completely."""
    x1, y1, x2, y2 = (max(0, round(v)) for v in box)
    part = image[y1:y2, x1:x2]
    part[:] = cv2.blur(part, (max(3, x2 - x1), max(3, (y2 - y1) // 2)))


def _corners(box: Box, plate: Plate, rng: np.random.Generator) -> np.ndarray:
    """Return corners for the plate, centred on the old plate and covering it if possible."""
    aspect = plate.image.shape[1] / plate.image.shape[0]
    width, height = box[2] - box[0], _height(box)
    width = max(width, min(height * aspect, 1.3 * width)) * rng.uniform(1.0, 1.06)
    half = np.array([width, width / aspect]) / 2
    centre = np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2])
    shift = rng.normal(0, CORNER_SHIFT, (4, 2)) * [width, width / aspect]
    slope = np.array([[0, -1], [0, 1], [0, 1], [0, -1]]) * rng.normal(0, 0.02) * width
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return np.asarray(centre + half * signs + shift + slope, dtype=np.float32)


def _seen(plate: Plate, corners: np.ndarray, size: tuple[int, int]) -> tuple[Image, np.ndarray]:
    # Halve the image until it is near the final size, to avoid aliasing in the warped image.
    front, alpha = plate.image[..., ::-1], plate.alpha
    while front.shape[1] > 2.5 * size[0]:
        half = (front.shape[1] // 2, front.shape[0] // 2)
        front = as_image(cv2.resize(front, half, interpolation=cv2.INTER_AREA))
        alpha = np.asarray(cv2.resize(alpha, half, interpolation=cv2.INTER_AREA), np.float32)
    height, width = front.shape[:2]
    source = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(source, corners.astype(np.float32))
    front = as_image(cv2.warpPerspective(front, matrix, size, borderMode=cv2.BORDER_REPLICATE))
    return front, cv2.warpPerspective(alpha, matrix, size)[..., None]


def _coloured(front: Image, rng: np.random.Generator) -> np.ndarray:
    values: npt.NDArray[np.floating] = front.astype(np.float32)
    if rng.random() < 0.4:  # half of the layouts are yellow, but few real plates are
        values = np.repeat(values.max(axis=2, keepdims=True), 3, axis=2)
    if rng.random() < 0.2:
        values = 255 - values
    if rng.random() < 0.15:
        values = values * rng.uniform(0.35, 1.0, 3)
    return values


def _lit(front: np.ndarray, part: Image, rng: np.random.Generator) -> np.ndarray:
    """Return the plate with the brightness and tint of the area that the plate covers."""
    colour = part.reshape(-1, 3)[part.sum(axis=2).ravel() >= np.percentile(part.sum(axis=2), 60)]
    light = np.clip(colour.mean(axis=0) / 190.0, 0.12, 1.1) * rng.uniform(0.8, 1.2)
    return np.asarray(np.clip(front * light, 0, 255), dtype=np.float32)


def _height(box: Box) -> float:
    return max(1.0, box[3] - box[1])
