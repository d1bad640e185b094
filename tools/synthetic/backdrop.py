"""Everything that stands still: sky, hills, houses, trees and the road, by day and at dusk."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.camera import Camera
from tools.synthetic.canvas import Canvas
from tools.synthetic.foliage import paint_gardens, paint_skyline, paint_trees
from tools.synthetic.ground import Ground, paint_ground
from tools.synthetic.houses import paint_houses
from tools.synthetic.noise import cloud
from tools.synthetic.street import garden_walls, lamp_posts

Picture = NDArray[np.uint8]
_Place = tuple[float, float, float]

# What is left of daylight at dusk, blue-green-red: darker, and bluer than by day.
_DUSK = np.array((0.40, 0.335, 0.31), dtype=np.float32)


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
    canvas = Canvas.blank(camera)
    paint_skyline(canvas, rng)
    ground = paint_ground(camera, rng)
    near = np.asarray(cv2.GaussianBlur(ground.seen.astype(np.float32), (5, 5), 1.2), np.float32)
    _lay_ground(canvas, ground, near)
    paint_houses(canvas, rng)
    paint_gardens(canvas, rng)
    garden_walls(canvas)
    paint_trees(canvas, rng)
    heads = lamp_posts(canvas)
    soft = _through_lens(canvas)
    clouds = cloud((camera.height_px, camera.width_px), rng, 5, 5)
    return Backdrop(
        _picture(_under(soft, _day_sky(camera, clouds))),
        _picture(_dusk(soft, _under(soft, _dusk_sky(camera, clouds)), heads)),
        near,
    )


def _lay_ground(canvas: Canvas, ground: Ground, near: NDArray[np.float32]) -> None:
    share = near[..., None]
    canvas.colour[:] = np.clip(canvas.colour * (1 - share) + ground.colour * share, 0, 255)
    canvas.sky[:] = canvas.sky * (1 - near)


def _through_lens(canvas: Canvas) -> Canvas:
    blurred = (
        np.asarray(cv2.GaussianBlur(layer, (3, 3), 0.6), dtype=np.uint8)
        for layer in (canvas.colour, canvas.glow, canvas.sky)
    )
    return Canvas(canvas.camera, *blurred)


def _picture(colour: NDArray[np.float32]) -> Picture:
    return np.clip(colour, 0, 255).astype(np.uint8)


def _under(canvas: Canvas, sky: NDArray[np.float32]) -> NDArray[np.float32]:
    share = canvas.sky[..., None].astype(np.float32) / 255
    return np.asarray(canvas.colour * (1 - share) + sky * share, dtype=np.float32)


def _gradient(camera: Camera, *stops: tuple[float, float, float]) -> NDArray[np.float32]:
    """Return a picture whose colour runs through `stops` from the top to the horizon."""
    down = np.clip(np.arange(camera.height_px) / (camera.height_px * 0.28), 0, 1)
    places = np.linspace(0, 1, len(stops))
    column = np.stack([np.interp(down, places, part) for part in zip(*stops, strict=True)], axis=-1)
    return np.asarray(np.repeat(column[:, None], camera.width_px, axis=1), dtype=np.float32)


def _day_sky(camera: Camera, clouds: NDArray[np.float32]) -> NDArray[np.float32]:
    sky = _gradient(camera, (226, 200, 172), (236, 222, 208), (238, 234, 228))
    cover = np.clip(clouds * 2.4 - 1.0, 0, 1)[..., None]
    return np.asarray(sky + cover * (244 - sky) * 0.8, dtype=np.float32)


def _dusk_sky(camera: Camera, clouds: NDArray[np.float32]) -> NDArray[np.float32]:
    sky = _gradient(camera, (98, 66, 50), (112, 88, 86), (96, 118, 158), (92, 136, 196))
    cover = np.clip(clouds * 2.2 - 0.9, 0, 1)[..., None]
    return np.asarray(sky + cover * (np.array((78, 62, 60)) - sky) * 0.55, dtype=np.float32)


def _dusk(canvas: Canvas, picture: NDArray[np.float32], heads: list[_Place]) -> NDArray[np.float32]:
    share = canvas.sky[..., None].astype(np.float32) / 255
    dark: NDArray[np.float32] = np.asarray(picture * (_DUSK + share * (1 - _DUSK)), np.float32)
    dark += canvas.glow * np.float32(0.9)
    halo = cv2.GaussianBlur(canvas.glow, (0, 0), canvas.camera.width_px / 200)
    dark += np.asarray(halo, dtype=np.float32) * 0.8
    _lamp_light(dark, canvas, heads)
    return dark


def _lamp_light(dark: NDArray[np.float32], canvas: Canvas, heads: list[_Place]) -> None:
    """Light the ground under each street lamp, and put a halo around its head."""
    x, y = canvas.camera.ground()
    for head in heads:
        away = ((x - head[0]) / 3.4) ** 2 + ((y - head[1]) / 6.0) ** 2
        pool = np.nan_to_num(np.exp(-np.minimum(away, 30)), nan=0.0)
        pool *= 1 - canvas.sky.astype(np.float32) / 255
        dark += (pool[..., None] * dark * np.array((0.35, 0.75, 1.0))).astype(np.float32)
