"""Makes a vehicle's pass of a photo: it comes closer in a camera's picture, shaken and blurred.

The frames of such a pass share the errors that a real plate gives (its dirt, angle and letters),
which drawn plates lack.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from recognition.types import BgrImage, Box

WIDTH_PX, HEIGHT_PX = 1280, 720
_FPS = 5
_WIDEST_PLATE_PX = 130
_SHAKE_PX, _SHAKE_DEGREES = 1.5, 0.4
_NOISE = 4.0
_LONGEST_BLUR_PX = 4


@dataclass(frozen=True)
class _Way:
    """Scale of the photo, and where in the picture the plate's middle is, at the start and end."""

    scales: tuple[float, float]
    places: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]

    def at(self, share: float) -> tuple[float, npt.NDArray[np.float64]]:
        first, last = self.places
        start, end = self.scales
        return start * (end / start) ** share, first + (last - first) * share**2


def moved_photo(
    photo: BgrImage, box: Box, seconds: float, rng: np.random.Generator
) -> Iterator[tuple[float, BgrImage]]:
    """Yield seconds and pictures (1280×720, 5 a second) of the plate in ``box`` coming closer.

    ``box`` (left, top, right, bottom) is in pixels of the photo, which is never enlarged.
    """
    left, top, right, bottom = box
    middle = np.array([(left + right) / 2, (top + bottom) / 2])
    way = _way(right - left, rng)
    ground = cv2.GaussianBlur(cv2.resize(photo, (WIDTH_PX, HEIGHT_PX)), (0, 0), 25)
    count = round(seconds * _FPS)
    for index in range(count):
        scale, place = way.at(index / (count - 1))
        place = place + rng.normal(0, _SHAKE_PX, 2)
        pixels = _placed(photo, middle, scale, place, rng.normal(0, _SHAKE_DEGREES), ground)
        yield index / _FPS, _as_sensor_sees(pixels, rng)


def _way(plate_px: float, rng: np.random.Generator) -> _Way:
    size = np.array([WIDTH_PX, HEIGHT_PX])
    end = min(1.0, _WIDEST_PLATE_PX / plate_px)
    start = end * rng.uniform(0.3, 0.5)
    first = rng.uniform((0.3, 0.25), (0.7, 0.45)) * size
    last = rng.uniform((0.2, 0.6), (0.8, 0.85)) * size
    return _Way((start, end), (first, last))


def _placed(
    photo: BgrImage,
    middle: npt.NDArray[np.float64],
    scale: float,
    place: npt.NDArray[np.float64],
    degrees: float,
    ground: cv2.typing.MatLike,
) -> cv2.typing.MatLike:
    small = cv2.resize(photo, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    x, y = middle * scale
    moved = cv2.getRotationMatrix2D((x, y), degrees, 1.0)
    moved[:, 2] += place - (x, y)
    return cv2.warpAffine(
        small,
        moved,
        (WIDTH_PX, HEIGHT_PX),
        dst=ground.copy(),
        borderMode=cv2.BORDER_TRANSPARENT,
        flags=cv2.INTER_CUBIC,
    )


def _as_sensor_sees(pixels: cv2.typing.MatLike, rng: np.random.Generator) -> BgrImage:
    length = int(rng.integers(1, _LONGEST_BLUR_PX + 1))
    rows = np.linspace(0, length - 1, length) if rng.random() < 0.5 else np.full(length, length / 2)
    kernel = np.zeros((length, length), np.float32)
    kernel[np.arange(length), rows.astype(int)] = 1 / length
    light = rng.uniform(0.85, 1.1)
    seen = cv2.filter2D(pixels, -1, kernel) * light + rng.normal(0, _NOISE, pixels.shape)
    return np.asarray(np.clip(seen, 0, 255), np.uint8)
