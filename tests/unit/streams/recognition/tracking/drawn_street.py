"""A drawn street with a parked car, all kinds of light, and objects that hide the car."""

from dataclasses import dataclass, field
from itertools import cycle

import cv2
import numpy as np
import numpy.typing as npt

from common.records.frames import Box
from recognition.types import BgrImage

WIDTH, HEIGHT = 640, 360
PLATE = Box(x=300, y=250, width=60, height=16)


@dataclass
class Street:
    """A drawn scene. Lighting and noise differ from frame to frame."""

    seed: int = 1
    ground: BgrImage = field(init=False)
    noises: "cycle[npt.NDArray[np.float32]]" = field(init=False)

    def __post_init__(self) -> None:
        """Draw the houses and the road."""
        generator = np.random.default_rng(self.seed)
        shape = (HEIGHT, WIDTH, 3)
        self.noises = cycle([generator.normal(0, 4, shape).astype(np.float32) for _ in range(5)])
        coarse = generator.integers(60, 160, (12, 20, 3), np.uint8)
        smooth = cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)
        ground = np.asarray(smooth, np.uint8)
        ground[170:] = ground[170:] // 3 + 70
        for x in range(20, WIDTH, 110):
            cv2.rectangle(ground, (x, 30), (x + 60, 120), (180, 190, 200), -1)
            cv2.rectangle(ground, (x + 20, 60), (x + 40, 120), (40, 40, 60), -1)
        cv2.line(ground, (0, 340), (WIDTH, 300), (210, 210, 210), 5)
        self.ground = ground

    def empty(self) -> BgrImage:
        """Return the street without a car."""
        return self.ground.copy()

    def with_car(self, plate: Box = PLATE) -> BgrImage:
        """Return the street with a car and its plate."""
        image = self.empty()
        x, y, w = int(plate.x), int(plate.y), int(plate.width)
        left, right, top = x - int(1.2 * w), x + int(2.2 * w), y - int(1.8 * w)
        cv2.rectangle(image, (left, top + w), (right, y + 26), (120, 30, 20), -1)
        cv2.rectangle(image, (left + w // 2, top), (right - w // 2, top + w), (60, 50, 40), -1)
        cv2.rectangle(image, (left + 6, y - 20), (left + 40, y - 6), (240, 240, 240), -1)
        cv2.rectangle(image, (right - 40, y - 20), (right - 6, y - 6), (240, 240, 240), -1)
        cv2.rectangle(image, (x, y), (x + w, y + 16), (250, 250, 250), -1)
        cv2.putText(image, "AB123CD", (x + 2, y + 13), 0, 0.42, (10, 10, 10), 1)
        return image

    def lit(self, image: BgrImage, gain: float = 1.0, shift: float = 0.0) -> BgrImage:
        """Return an image under different light, with sensor noise."""
        lit = image.astype(np.float32) * np.float32(gain) + (next(self.noises) + np.float32(shift))
        return lit.clip(0, 255).astype(np.uint8)


def with_headlights(image: BgrImage, x: int) -> BgrImage:
    """Return an image with the headlights of a passing car."""
    lights = np.zeros(image.shape[:2], np.float32)
    for at in (x, x + 50):
        cv2.circle(lights, (at, 260), 14, 255, -1)
    glow = cv2.GaussianBlur(lights, (0, 0), 30) * 1.5 + lights
    return (image + glow[..., None]).clip(0, 255).astype(np.uint8)


def with_passer(image: BgrImage, x: int) -> BgrImage:
    """Return an image with a pedestrian."""
    image = image.copy()
    cv2.rectangle(image, (x, 180), (x + 28, 290), (50, 80, 140), -1)
    return image


def with_lorry(image: BgrImage) -> BgrImage:
    """Return an image with a lorry that covers its centre."""
    image = image.copy()
    cv2.rectangle(image, (120, 60), (560, 330), (200, 160, 60), -1)
    cv2.rectangle(image, (140, 90), (540, 220), (230, 230, 230), -1)
    return image
