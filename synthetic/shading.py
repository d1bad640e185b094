"""Light on surfaces: daylight and dusk, sky mirrored in paint and glass."""

from dataclasses import dataclass
from enum import Enum

import cv2
import numpy as np
from numpy.typing import NDArray

from synthetic.car_skins import Skin
from synthetic.raster import Surface

Plane = NDArray[np.float32]
_Vector = tuple[float, float, float]


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

    sun: _Vector
    sun_colour: _Vector
    sky: _Vector
    horizon: _Vector
    ground: _Vector
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


def shade(surface: Surface, skin: Skin, rig: LightRig, place: _Vector) -> NDArray[np.uint8]:
    """Return the lit surface, height x width x 4 uint8: blue, green, red times cover, and cover.

    `place` is where the camera stands, seen from the surface, in world metres.
    """
    colour, gloss, glow = _sampled(surface, skin)
    view = np.array(place, dtype=np.float32)
    view /= np.linalg.norm(view)
    normal = surface.normal
    facing = np.clip(normal @ view, 0, 1)
    lit = colour * _diffuse(normal, surface.height, rig)
    mirror = _mirrored(normal, view, facing, rig)
    fresnel = gloss + (1 - gloss) * np.power(1 - facing, 5) * np.minimum(1, gloss * 14)
    lit += (mirror - lit * 0.5) * fresnel[..., None]
    lit += colour * (glow * rig.lamp)[..., None] / max(rig.exposure, 1e-3)
    return _developed(lit * rig.exposure, surface.covered)


def _sampled(surface: Surface, skin: Skin) -> tuple[Plane, Plane, Plane]:
    u, v = surface.skin[..., 0], surface.skin[..., 1]
    colour = cv2.remap(skin.colour, u, v, cv2.INTER_LINEAR)
    gloss = cv2.remap(skin.gloss, u, v, cv2.INTER_LINEAR)
    glow = cv2.remap(skin.glow, u, v, cv2.INTER_LINEAR)
    scale = np.float32(1 / 255)
    return _LINEAR[colour], gloss * scale, glow * scale


def _diffuse(normal: Plane, height: Plane, rig: LightRig) -> Plane:
    up = normal[..., 2:] * 0.5 + 0.5
    around = np.array(rig.ground) + up * (np.array(rig.sky) - np.array(rig.ground))
    sun = np.clip(normal @ np.array(rig.sun, dtype=np.float32), 0, 1)[..., None]
    # Close to the road a body stands in its own shadow.
    shadow = np.clip((height - 0.05) * 1.9, 0.25, 1)[..., None]
    return np.asarray((around + sun * np.array(rig.sun_colour)) * shadow, dtype=np.float32)


def _mirrored(normal: Plane, view: NDArray[np.float32], facing: Plane, rig: LightRig) -> Plane:
    ray_z = 2 * facing * normal[..., 2] - view[2]
    ray_x = 2 * facing * normal[..., 0] - view[0]
    # A wavy line of trees and roofs stands between road and sky.
    line = 0.10 + 0.05 * np.sin(ray_x * 9) + 0.03 * np.sin(ray_x * 23)
    over = np.clip((ray_z - line) * 7, 0, 1)[..., None]
    high = np.clip(ray_z * 1.4, 0, 1)[..., None]
    sky = np.array(rig.horizon) * 1.35 + high * (np.array(rig.sky) - np.array(rig.horizon) * 1.35)
    trees = np.array(rig.ground) * 0.9
    mirror = trees + over * (sky - trees)
    sun = np.array(rig.sun, dtype=np.float32)
    half = (sun + view) / np.linalg.norm(sun + view)
    glint = np.power(np.clip(normal @ half, 0, 1), 160)[..., None] * np.array(rig.sun_colour) * 14
    return np.asarray(mirror + glint, dtype=np.float32)


def _developed(linear: Plane, covered: NDArray[np.bool_]) -> NDArray[np.uint8]:
    tone = np.power(np.clip(linear, 0, 1.2), 1 / 2.2) * 255
    cover = covered.astype(np.float32) * 255
    picture = np.dstack([np.clip(tone, 0, 255) * covered[..., None], cover])
    return picture.astype(np.uint8)
