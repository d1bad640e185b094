"""One moment of the scene as the sensor sees it: backdrop, shadows, cars, plates, lamps, noise."""

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.backdrop import Backdrop
from tools.synthetic.camera import Camera
from tools.synthetic.cars import Car
from tools.synthetic.ground import CREST_Y_M
from tools.synthetic.raster import Window
from tools.synthetic.road_light import Frame, cast_shadow, cut_of, light_road, shine
from tools.synthetic.shading import Light
from tools.synthetic.sprites import CarPictures, Layer

_DAY_EXPOSURE_S = 1 / 420
_DUSK_EXPOSURE_S = 1 / 180
_NOISE = {Light.DAY: 1.5, Light.DUSK: 2.8}
_NOISE_SLACK_PX = 64
_PLATE_LEVELS = 5


@dataclass(frozen=True)
class Presence:
    """A car at a moment: where it is and how fast it goes, metres and metres a second along y."""

    pictures: CarPictures
    plate_levels: tuple[Layer, ...]
    y: float
    velocity_m_s: float


def plate_levels(car: Car) -> tuple[Layer, ...]:
    """Return the plate of a car, lit, at falling sizes (each half of the one before)."""
    gain = 0.93 if car.light is Light.DAY else 0.50
    alpha = car.plate.alpha[..., None]
    lit = car.plate.image.astype(np.float32) * gain
    layer = np.dstack([lit * alpha, alpha * 255]).astype(np.uint8)
    levels = [layer]
    for _ in range(_PLATE_LEVELS - 1):
        levels.append(np.asarray(cv2.pyrDown(levels[-1]), dtype=np.uint8))
    return tuple(levels)


class Composer:
    """Draws moments of one scene. Keeps buffers and is not to be shared between threads."""

    def __init__(self, camera: Camera, backdrop: Backdrop, seed: int) -> None:
        self._camera = camera
        self._backdrop = backdrop
        self._seed = seed
        rng = np.random.default_rng((seed, 77))
        shape = (camera.height_px + _NOISE_SLACK_PX, camera.width_px + _NOISE_SLACK_PX)
        white = rng.standard_normal(shape, dtype=np.float32)
        self._noise = cv2.GaussianBlur(white, (3, 3), 0.55) * 1.5
        self._grains: tuple[float, NDArray[np.int16]] | None = None

    def moment(self, presences: list[Presence], dusk: float) -> Frame:
        """Return the scene, height x width x 3 uint8 BGR, before noise."""
        frame = self._backdrop.lit(dusk)
        for presence in sorted(presences, key=lambda p: -p.y):
            self._draw_car(frame, presence, dusk)
        return frame

    def sensor(self, index: int, frame: Frame, dusk: float) -> NDArray[np.uint8]:
        """Return the frame as planar YUV 4:2:0 (height * 3 / 2 x width) with the sensor's noise."""
        planes = cv2.cvtColor(frame, cv2.COLOR_BGR2YUV_I420)
        strength = _NOISE[Light.DAY] + dusk * (_NOISE[Light.DUSK] - _NOISE[Light.DAY])
        rng = np.random.default_rng((self._seed, index))
        top, left = (int(v) for v in rng.integers(_NOISE_SLACK_PX, size=2))
        height, width = frame.shape[:2]
        grains = self._grains_of(strength)[top : top + height, left : left + width]
        planes[:height] = cv2.add(planes[:height], grains, dtype=cv2.CV_8U)
        return np.asarray(planes, dtype=np.uint8)

    def _grains_of(self, strength: float) -> NDArray[np.int16]:
        if self._grains is None or self._grains[0] != strength:
            self._grains = (strength, np.rint(self._noise * strength).astype(np.int16))
        return self._grains[1]

    def _draw_car(self, frame: Frame, presence: Presence, dusk: float) -> None:
        car = presence.pictures.car
        found = presence.pictures.at(presence.y)
        cast_shadow(frame, self._camera, car, presence.y, dusk)
        if car.light is Light.DUSK:
            light_road(frame, self._camera, car, presence.y)
        if car.light is Light.DUSK:
            light_road(frame, self._camera, car, presence.y)
        if found is None:
            return
        window, layer = found
        self._hang_plate(layer, window, presence)
        layer = self._blurred(layer, presence)
        if presence.y > CREST_Y_M - car.pose.shape.length - 2:
            self._hide_behind_crest(layer, window, presence.y)
        if car.light is Light.DAY and dusk > 0:
            colour_gain = 1 - 0.6 * dusk
            layer[..., :3] = (layer[..., :3] * colour_gain).astype(np.uint8)
        _lay(frame, layer, window)
        if car.light is Light.DUSK:
            shine(frame, self._camera, car, presence.y)

    def _hang_plate(self, layer: Layer, window: Window, presence: Presence) -> None:
        corners, depth = self._camera.project(presence.pictures.car.pose.plate_corners(presence.y))
        if depth.min() < 1:
            return
        places = (corners - (window.left, window.top)).astype(np.float32)
        across = float(np.linalg.norm(places[1] - places[0]))
        level = _level(presence.plate_levels, across)
        low = np.maximum(np.floor(places.min(axis=0)).astype(int) - 1, 0)
        high = np.minimum(np.ceil(places.max(axis=0)).astype(int) + 2, layer.shape[1::-1])
        if (high <= low).any():
            return
        height, width = level.shape[:2]
        source = (
            np.array([(0, 0), (width, 0), (width, height), (0, height)], dtype=np.float32) - 0.5
        )
        move = cv2.getPerspectiveTransform(source, places - low.astype(np.float32))
        size = (int(high[0] - low[0]), int(high[1] - low[1]))
        plate = cv2.warpPerspective(level, move, size, flags=cv2.INTER_LINEAR)
        target = layer[low[1] : high[1], low[0] : high[0]]
        keep = (255 - plate[..., 3:].astype(np.uint16)) * target // 255
        target[:] = (keep + plate).clip(0, 255).astype(np.uint8)

    def _blurred(self, layer: Layer, presence: Presence) -> Layer:
        """Blur along the way the car moves while the shutter is open, and by the lens."""
        car = presence.pictures.car
        exposure = _DAY_EXPOSURE_S if car.light is Light.DAY else _DUSK_EXPOSURE_S
        step = presence.velocity_m_s * exposure
        middle = car.pose.plate_corners(presence.y).mean(axis=0, keepdims=True)
        before, _ = self._camera.project(middle - (0, step / 2, 0))
        after, _ = self._camera.project(middle + (0, step / 2, 0))
        if np.abs(after - before).max() < 0.3:
            return np.asarray(cv2.GaussianBlur(layer, (3, 3), 0.5), dtype=np.uint8)
        kernel = _streak(tuple(np.clip((after - before)[0], -12, 12)))
        blurred = cv2.filter2D(layer, -1, kernel, borderType=cv2.BORDER_REPLICATE)
        return np.asarray(blurred, dtype=np.uint8)

    def _hide_behind_crest(self, layer: Layer, window: Window, y: float) -> None:
        if y < CREST_Y_M:
            return
        near = self._backdrop.near_road
        top, bottom = max(0, window.top), min(near.shape[0], window.top + window.height)
        left, right = max(0, window.left), min(near.shape[1], window.left + window.width)
        if top >= bottom or left >= right:
            return
        cut = layer[
            top - window.top : bottom - window.top, left - window.left : right - window.left
        ]
        cut[:] = (cut * (1 - near[top:bottom, left:right, None])).astype(np.uint8)


def _level(levels: tuple[Layer, ...], across: float) -> Layer:
    """Return the smallest picture of a plate that still has a pixel for each on the screen."""
    fitting = [level for level in levels if level.shape[1] >= across * 0.95]
    return fitting[-1] if fitting else levels[0]


def _streak(move: tuple[float, float]) -> NDArray[np.float32]:
    """A kernel that smears along `move` pixels, softened as by a lens."""
    half_x, half_y = (math.ceil(abs(part) / 2 + 1) for part in move)
    kernel = np.zeros((2 * half_y + 1, 2 * half_x + 1), dtype=np.float32)
    across, down = np.meshgrid(np.arange(-half_x, half_x + 1), np.arange(-half_y, half_y + 1))
    for share in np.linspace(-0.5, 0.5, 17):
        distance = (across - share * move[0]) ** 2 + (down - share * move[1]) ** 2
        kernel += np.exp(-distance / (2 * 0.55**2))
    return np.asarray(kernel / kernel.sum(), dtype=np.float32)


def _lay(frame: Frame, layer: Layer, window: Window) -> None:
    """Lay a layer over the frame (modified)."""
    cut = cut_of(frame, window)
    if cut is None:
        return
    part = layer[cut[2], cut[3]]
    under = frame[cut[0], cut[1]]
    clear = cv2.cvtColor(255 - part[..., 3], cv2.COLOR_GRAY2BGR)
    cv2.multiply(under, clear, dst=clear, scale=1 / 255)
    frame[cut[0], cut[1]] = cv2.add(clear, cv2.cvtColor(part, cv2.COLOR_BGRA2BGR))
