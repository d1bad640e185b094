"""Images of drawn cars with drawn plates, for the engine and the recognition stage."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np

from recognition.types import BgrImage
from tools.synthetic.layouts import BY_CODE
from tools.synthetic.plates import plate_with_text

WIDTH_PX, HEIGHT_PX = 1280, 720
PLATES = ("SH350AZ", "VB221VX", "TL708LV", "SF356JW", "TX526YE", "VG380ZR")
"""Plate texts that the Italian layout allows; none is a real plate."""

_ROAD = (110, 110, 110)
_PAINT = (45, 40, 40)
_GLASS = (40, 45, 50)
_LAMP = (250, 250, 240)
_CAR_WIDTH_PX, _CAR_HEIGHT_PX = 480, 310
_PLATE_WIDTH_PX = 140


@dataclass(frozen=True)
class Parked:
    """A car with its plate, and the plate's centre in pixels."""

    plate: str
    x_px: int = 640
    y_px: int = 480


def car_scene(cars: Sequence[Parked] = (), seed: int = 1) -> BgrImage:
    """Return a road with cars on it, 1280x720."""
    image = np.full((HEIGHT_PX, WIDTH_PX, 3), _ROAD, np.uint8)
    for car in cars:
        _draw_car(image, car)
    soft = cv2.GaussianBlur(image, (0, 0), 0.7)
    noise = np.random.default_rng(seed).normal(0, 4, soft.shape)
    return np.asarray(np.clip(soft + noise, 0, 255), np.uint8)


def jpeg(image: BgrImage, quality: int = 85) -> bytes:
    """Return the image as ingest would send it."""
    _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return data.tobytes()


def _draw_car(image: BgrImage, car: Parked) -> None:
    left, top = car.x_px - _CAR_WIDTH_PX // 2, car.y_px - 230
    right, bottom = left + _CAR_WIDTH_PX, top + _CAR_HEIGHT_PX
    cv2.rectangle(image, (left, top), (right, bottom), _PAINT, -1)
    cv2.rectangle(image, (left + 50, top + 20), (right - 50, top + 130), _GLASS, -1)
    for lamp in (left + 40, right - 40):
        cv2.ellipse(image, (lamp, top + 180), (40, 25), 0, 0, 360, _LAMP, -1)
    plate = plate_image(car.plate)
    height, width = plate.shape[:2]
    x, y = car.x_px - width // 2, car.y_px - height // 2
    image[y : y + height, x : x + width] = plate


@cache
def plate_image(text: str) -> BgrImage:
    """Return an Italian plate as on a car of these scenes."""
    drawn = plate_with_text(BY_CODE["it"], text, np.random.default_rng(1)).image
    height = round(drawn.shape[0] * _PLATE_WIDTH_PX / drawn.shape[1])
    small = cv2.resize(drawn, (_PLATE_WIDTH_PX, height), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8)
