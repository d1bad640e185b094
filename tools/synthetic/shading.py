"""Light on surfaces: daylight and dusk, sky mirrored in paint and glass."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.car_view import Skin
from tools.synthetic.raster import Surface

Plane = NDArray[np.float32]
Vector = tuple[float, float, float]


class Light(Enum):
    """The light a car passes in."""

    DAY = "day"
    DUSK = "dusk"


@dataclass(frozen=True)
class LightRig:
    """Light sources, linear, blue-green-red. `sun` points towards the sun, world axes.

    `sky` is what shines from above, `ground` from below, `horizon` from the side; `exposure` is the
    camera's gain, `lamp` how brightly lamps shine.
    """

    sun: Vector
    sun_colour: Vector
    sky: Vector
    horizon: Vector
    ground: Vector
    exposure: float
    lamp: float


RIGS = {
    Light.DAY: LightRig(
        sun=(-0.52, -0.42, 0.74),
        sun_colour=(0.78, 0.86, 0.92),
        sky=(0.92, 0.78, 0.66),
        horizon=(0.86, 0.84, 0.82),
        ground=(0.20, 0.21, 0.22),
        exposure=0.92,
        lamp=0.30,
    ),
    Light.DUSK: LightRig(
        sun=(0.0, 0.94, 0.34),
        sun_colour=(0.02, 0.04, 0.06),
        sky=(0.62, 0.48, 0.40),
        horizon=(0.40, 0.44, 0.56),
        ground=(0.10, 0.10, 0.11),
        exposure=0.30,
        lamp=1.6,
    ),
}

_LINEAR = np.power(np.arange(256) / 255, 2.2).astype(np.float32)
_TONES = 4096
_TONE = np.round(255 * np.power(np.arange(_TONES) / (_TONES - 1), 1 / 2.2)).astype(np.uint8)
_MIRROR_SIZE = 512
_ROW = 1024


def shade(surface: Surface, skin: Skin, rig: LightRig, towards: Vector) -> NDArray[np.uint8]:
    """Return the lit surface, height x width x 4 uint8: blue, green, red times cover, and cover.

    `towards` points from the surface to the camera, world axes.
    """
    layer = np.zeros((surface.shape[0] * surface.shape[1], 4), dtype=np.uint8)
    if len(surface.at):
        seen = np.full((len(surface.at), 4), 255, dtype=np.uint8)
        for channel, light in enumerate(_lit(surface, skin, rig, towards)):
            seen[:, channel] = _developed(light, rig.exposure)
        layer[surface.at] = seen
    return layer.reshape(*surface.shape, 4)


def _lit(surface: Surface, skin: Skin, rig: LightRig, towards: Vector) -> Iterator[Plane]:
    """Give the light that comes from each covered pixel, linear, channel by channel."""
    colour, gloss, glow = _sampled(surface, skin)
    view = _unit(towards)
    facing = np.clip(view @ surface.normal, 0, 1)
    away = (1 - facing) ** 2
    fresnel = gloss + (1 - gloss) * away * away * (1 - facing) * np.minimum(1, gloss * 14)
    mirror = _mirrored(surface.normal, view, facing, rig)
    glow *= np.float32(rig.lamp / rig.exposure)
    soft = 1 - fresnel * np.float32(0.5)
    for channel, diffuse in enumerate(_diffuse(surface, rig)):
        own = _LINEAR[colour[:, channel]]
        yield own * (diffuse * soft + glow) + mirror[:, channel] * fresnel


def _unit(vector: Vector) -> Plane:
    array = np.array(vector, dtype=np.float32)
    return np.asarray(array / np.linalg.norm(array), dtype=np.float32)


def _sampled(surface: Surface, skin: Skin) -> tuple[NDArray[np.uint8], Plane, Plane]:
    colour, gloss, glow = (
        _looked_up(layer, surface.skin[0], surface.skin[1])
        for layer in (skin.colour, skin.gloss, skin.glow)
    )
    scale = np.float32(1 / 255)
    return colour, gloss * scale, glow * scale


def _looked_up(layer: NDArray[Any], u: Plane, v: Plane) -> NDArray[Any]:
    """Look N places up in a picture; in rows, since OpenCV takes no list that long."""
    rows = -(-len(u) // _ROW)
    maps = [np.resize(part, (rows, _ROW)) for part in (u, v)]
    found = np.asarray(
        cv2.remap(layer, maps[0], maps[1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    )
    return found.reshape(rows * _ROW, *found.shape[2:])[: len(u)]


def _diffuse(surface: Surface, rig: LightRig) -> Iterator[Plane]:
    # Close to the road a body stands in its own shadow.
    shadow = np.clip((surface.height - np.float32(0.05)) * np.float32(1.9), 0.25, 1)
    up = (surface.normal[2] * np.float32(0.5) + np.float32(0.5)) * shadow
    sun = np.clip(np.array(rig.sun, np.float32) @ surface.normal, 0, 1) * shadow
    for ground, sky, sun_colour in zip(rig.ground, rig.sky, rig.sun_colour, strict=True):
        yield (
            up * np.float32(sky - ground)
            + sun * np.float32(sun_colour)
            + shadow * np.float32(ground)
        )


def _mirrored(normal: Plane, view: Plane, facing: Plane, rig: LightRig) -> Plane:
    half = np.float32(_MIRROR_SIZE / 2)
    u = (2 * facing * normal[0] - view[0]) * half + half
    v = (2 * facing * normal[2] - view[2]) * half + half
    return np.asarray(_looked_up(_surroundings(rig), u, v), dtype=np.float32)


@lru_cache(maxsize=2)
def _surroundings(rig: LightRig) -> Plane:
    """What a mirror shows, by the x (columns) and z (rows) of the way it looks, -1 to 1."""
    steps = np.linspace(-1, 1, _MIRROR_SIZE)
    x, z = np.meshgrid(steps, steps)
    # A wavy line of trees and roofs stands between road and sky.
    line = 0.10 + 0.05 * np.sin(x * 9) + 0.03 * np.sin(x * 23)
    over = np.clip((z - line) * 7, 0, 1)[..., None]
    high = np.clip(z * 1.4, 0, 1)[..., None]
    horizon, trees = np.array(rig.horizon) * 1.35, np.array(rig.ground) * 0.9
    sky = horizon + high * (np.array(rig.sky) - horizon)
    mirror = trees + over * (sky - trees)
    y = -np.sqrt(np.clip(1 - x * x - z * z, 0, 1))
    to_sun = np.clip(x * rig.sun[0] + y * rig.sun[1] + z * rig.sun[2], 0, 1)
    mirror += np.power(to_sun, 90)[..., None] * np.array(rig.sun_colour) * 14
    return mirror.astype(np.float32)


def _developed(linear: Plane, exposure: float) -> NDArray[np.uint8]:
    steps = np.clip(linear * np.float32(exposure * (_TONES - 1)), 0, _TONES - 1)
    return np.asarray(_TONE[steps.astype(np.uint16)], dtype=np.uint8)
