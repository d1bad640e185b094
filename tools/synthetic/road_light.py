"""The light on the road around cars: shadows by day, lamps and their glow at dusk."""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.camera import Camera
from tools.synthetic.cars import Car
from tools.synthetic.ground import CREST_Y_M
from tools.synthetic.raster import Window
from tools.synthetic.shading import RIGS, Light

Frame = NDArray[np.uint8]
"""Height x width x 3, blue-green-red."""


def cast_shadow(frame: Frame, camera: Camera, car: Car, y: float, dusk: float) -> None:
    """Darken the road under and beside a car."""
    if y > CREST_Y_M - 2 or y < -car.pose.shape.length + 2:
        return
    w, length = car.pose.shape.half_width, car.pose.shape.length
    under = np.array(
        [(-w, 0.05, 0), (w, 0.05, 0), (w, length - 0.05, 0), (-w, length - 0.05, 0)], dtype=float
    )
    _darken(frame, camera, car.pose.world(under, y), 0.80, 0.16)
    sun_share = (1 - dusk) if car.light is Light.DAY else 0.0
    if sun_share > 0.05:
        sun = RIGS[Light.DAY].sun
        body = car.pose.world(car.outline, y)
        body = body - body[:, 2:] / sun[2] * np.array(sun)
        hull = cv2.convexHull(body[:, :2].astype(np.float32))[:, 0]
        outline = np.column_stack([hull, np.zeros(len(hull))])
        _darken(frame, camera, outline, 0.46 * sun_share, 0.07)


def light_road(frame: Frame, camera: Camera, car: Car, y: float) -> None:
    """Brighten the road before a car where its lamps light it; white, or red behind a car."""
    if y > CREST_Y_M - 25 or y < 4:
        return
    reach, near, far = (1.5, 0.9, 0.7) if car.pose.rear else (13.0, 1.9, 0.7)
    spots = [(-near, -reach, 0), (near, -reach, 0), (far, 0.2, 0), (-far, 0.2, 0)]
    outline = np.array(spots, dtype=float) + (car.pose.lane_x, y, 0)
    found = _soft_mask(frame, camera, outline, 0.5)
    if found is None:
        return
    under, mask = found
    gains = (0.25, 0.25, 1.0) if car.pose.rear else (0.75, 0.95, 1.0)
    colour = cv2.merge([cv2.convertScaleAbs(mask, None, gain) for gain in gains])
    under[:] = cv2.add(under, cv2.multiply(under, colour, scale=0.85 / 255))


def shine(frame: Frame, camera: Camera, car: Car, y: float) -> None:
    """Add the glow of lit lamps around them."""
    if y > CREST_Y_M or y < 2:
        return
    places, depth = camera.project(car.pose.lamps(y))
    front = not car.pose.rear
    colour = (205, 232, 245) if front else (40, 30, 190)
    for (x, line), far in zip(places, depth, strict=True):
        if far < 2:
            continue
        radius = camera.focal_px * (0.34 if front else 0.20) / far + camera.width_px / 240
        _glow(frame, (x, line), radius, colour, 0.62 if front else 0.5)


def cut_of(frame: Frame, window: Window) -> tuple[slice, slice, slice, slice] | None:
    """Return where a window lies in the frame (lines, columns) and in itself; None: outside."""
    top, bottom = max(0, window.top), min(frame.shape[0], window.top + window.height)
    left, right = max(0, window.left), min(frame.shape[1], window.left + window.width)
    if top >= bottom or left >= right:
        return None
    return (
        slice(top, bottom),
        slice(left, right),
        slice(top - window.top, bottom - window.top),
        slice(left - window.left, right - window.left),
    )


def _darken(
    frame: Frame, camera: Camera, outline: NDArray[np.float64], strength: float, soft_m: float
) -> None:
    found = _soft_mask(frame, camera, outline, soft_m)
    if found is None:
        return
    under, mask = found
    clear = cv2.cvtColor(cv2.convertScaleAbs(mask, None, -strength, 255), cv2.COLOR_GRAY2BGR)
    under[:] = cv2.multiply(under, clear, scale=1 / 255)


def _soft_mask(
    frame: Frame, camera: Camera, outline: NDArray[np.float64], soft_m: float
) -> tuple[Frame, NDArray[np.uint8]] | None:
    """Return the part of the frame around an outline on the road, and the outline's soft mask."""
    places, depth = camera.project(outline)
    ahead = depth > 2.0
    if ahead.sum() < 3:
        return None
    hull = cv2.convexHull(places[ahead].astype(np.float32))[:, 0]
    blur = max(0.8, soft_m * camera.focal_px / float(np.median(depth[ahead])) * 0.5)
    low = np.maximum(hull.min(axis=0) - 3 * blur, 0).astype(int)
    high = np.minimum(hull.max(axis=0) + 3 * blur, frame.shape[1::-1]).astype(int)
    if (high - low < 2).any():
        return None
    shrink = 4 if blur > 6 else 1
    size = (max(2, int(high[0] - low[0]) // shrink), max(2, int(high[1] - low[1]) // shrink))
    mask = np.zeros((size[1], size[0]), dtype=np.uint8)
    fixed = np.round((hull - low) / shrink * 16).astype(np.int32)
    cv2.fillConvexPoly(mask, fixed, (255,), cv2.LINE_AA, 4)
    soft = cv2.GaussianBlur(mask, (0, 0), blur / shrink)
    soft = cv2.resize(soft, (int(high[0] - low[0]), int(high[1] - low[1])))
    return frame[low[1] : high[1], low[0] : high[0]], np.asarray(soft, dtype=np.uint8)


def _glow(
    frame: Frame,
    at: tuple[float, float],
    radius: float,
    colour: tuple[int, int, int],
    strength: float,
) -> None:
    reach = math.ceil(radius)
    left, top = round(at[0]) - reach, round(at[1]) - reach
    cut = cut_of(frame, Window(left, top, 2 * reach + 1, 2 * reach + 1))
    if cut is None:
        return
    out = np.arange(-reach, reach + 1, dtype=np.float32) / radius
    distance = np.sqrt(out[:, None] ** 2 + out[None, :] ** 2)
    shine = np.clip(1 - distance, 0, 1) ** 2.6 * strength
    light = (shine[..., None] * np.array(colour, dtype=np.float32)).astype(np.uint8)
    frame[cut[0], cut[1]] = cv2.add(frame[cut[0], cut[1]], light[cut[2], cut[3]])
