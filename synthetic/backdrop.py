"""What stands still: sky, hills, houses, trees and the road, by day and at dusk."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from synthetic.camera import Camera
from synthetic.ground import paint_ground
from synthetic.noise import cloud

Picture = NDArray[np.uint8]


@dataclass(frozen=True)
class Backdrop:
    """The empty scene: `day` and `dusk` pictures, and `near_road`, 1 where the ground is before
    the crest (it hides what is beyond), float32."""

    day: Picture
    dusk: Picture
    near_road: NDArray[np.float32]

    def lit(self, dusk: float) -> Picture:
        """Return a fresh picture of the scene, 0 (day) to 1 (dusk)."""
        if dusk <= 0:
            return self.day.copy()
        if dusk >= 1:
            return self.dusk.copy()
        mixed = cv2.addWeighted(self.day, 1 - dusk, self.dusk, dusk, 0.0)
        return np.asarray(mixed, dtype=np.uint8)


def paint_backdrop(camera: Camera, seed: int) -> Backdrop:
    """Paint the empty scene."""
    rng = np.random.default_rng((seed, 11))
    ground = paint_ground(camera, rng)
    soft = cv2.GaussianBlur(ground.seen.astype(np.float32), (5, 5), 1.2)
    near = np.asarray(soft, dtype=np.float32)
    day = _sky(camera, rng)
    day += near[..., None] * (ground.colour - day)
    dusk = day * np.array((0.42, 0.36, 0.33), dtype=np.float32)
    return Backdrop(_picture(day), _picture(dusk), near)


def _picture(colour: NDArray[np.float32]) -> Picture:
    return np.clip(colour, 0, 255).astype(np.uint8)


def _sky(camera: Camera, rng: np.random.Generator) -> NDArray[np.float32]:
    height, width = camera.height_px, camera.width_px
    down = np.clip(np.arange(height, dtype=np.float32) / (height * 0.3), 0, 1)[:, None, None]
    top, low = np.array((222, 196, 168)), np.array((236, 230, 224))
    sky = (top + down * (low - top)) * np.ones((1, width, 1), dtype=np.float32)
    clouds = np.clip(cloud((height, width), rng, 5, 5) * 2.4 - 1.0, 0, 1)[..., None]
    return np.asarray(sky + clouds * (244 - sky) * 0.8, dtype=np.float32)
