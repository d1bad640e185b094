"""Pictures of one car at a ladder of distances, and the car at any distance made from them.

A car is drawn in full only at the rungs; between them its nearest larger picture is moved point by
point, by the depth kept with it, to where the car is. That is exact up to what was hidden.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.camera import Camera
from tools.synthetic.cars import Car
from tools.synthetic.ground import road_height
from tools.synthetic.raster import Surface, Window, draw
from tools.synthetic.shading import RIGS, shade

Layer = NDArray[np.uint8]
"""Height x width x 4: blue, green, red times cover, and cover, 0 to 255."""

_RUNG_RATIO = 1.13
_COARSE = 4
_MARGIN = 0.18
# Beyond this a car is hidden behind the crest.
_FARTHEST_Y_M = 180.0
# Rungs are counted from a point this far behind the camera, so that they lie close enough together
# when a car is beside it.
_BEHIND_M = 2.5
_LEAST_REACH_M = 2.0


@dataclass(frozen=True)
class _Sprite:
    y: float
    window: Window
    layer: Layer
    depth: NDArray[np.float32]


class CarPictures:
    """Draws one car at any place along its lane."""

    def __init__(self, car: Car, camera: Camera) -> None:
        self.car = car
        self._camera = camera
        self._sprites: dict[int, _Sprite] = {}
        self._behind = car.pose.shape.length + _BEHIND_M

    def at(self, y: float) -> tuple[Window, Layer] | None:
        """Return the car at world y and where in the picture it goes; None where it is not seen."""
        reach = y + self._behind
        window = self._window(y, 0.0) if reach > _LEAST_REACH_M and y < _FARTHEST_Y_M else None
        if window is None:
            return None
        rung = int(np.floor(np.log(reach) / np.log(_RUNG_RATIO)))
        if rung not in self._sprites:
            self._sprites = {k: v for k, v in self._sprites.items() if abs(k - rung) < 2}
            self._sprites[rung] = self._draw(_RUNG_RATIO**rung - self._behind)
        return window, self._moved(self._sprites[rung], y, window)

    def _draw(self, y: float) -> _Sprite:
        window = self._window(y, _MARGIN) or Window(0, 0, 8, 8)
        surface = draw(self.car.stood_at(y), self._camera, window)
        middle = np.array([self.car.pose.lane_x, y + self.car.pose.shape.length / 2, 0.8])
        right, forward, up = (float(v) for v in np.array(self._camera.place) - middle)
        towards = (right, forward, up)
        layer = shade(surface, self.car.skin, RIGS[self.car.light], towards)
        layer = np.asarray(cv2.GaussianBlur(layer, (3, 3), 0.5), dtype=np.uint8)
        return _Sprite(y, window, layer, _coarse_depth(surface))

    def _window(self, y: float, margin: float) -> Window | None:
        """The car's bounds in the picture; `margin` is how far they may overhang it."""
        points = self.car.pose.world(self.car.outline, y)
        places, depth = self._camera.project(points)
        places = places[depth > 0.8]
        if len(places) == 0:
            return None
        width, height = self._camera.width_px, self._camera.height_px
        over = np.array([width, height]) * margin
        low = np.maximum(places.min(axis=0) - 4, -over)
        high = np.minimum(places.max(axis=0) + 4, np.array([width, height]) + over)
        if (high - low < 2).any():
            return None
        left, top = (int(v) for v in np.floor(low))
        right, bottom = (int(v) for v in np.ceil(high))
        return Window(left, top, right - left, bottom - top)

    def _moved(self, sprite: _Sprite, y: float, window: Window) -> Layer:
        rise = road_height(y) - road_height(sprite.y)
        shift = self._camera.rotation @ np.array([0.0, y - sprite.y, rise])
        columns, lines = _coarse_grid(window)
        focal = self._camera.focal_px
        right = (columns - self._camera.width_px / 2) / focal
        down = (lines - self._camera.height_px / 2) / focal
        depth: NDArray[np.float32] = np.full(right.shape, np.median(sprite.depth), np.float32)
        for _ in range(3):
            u, v = self._source(sprite, right, down, depth, shift)
            depth = _looked_up(sprite.depth, u, v)
        u, v = self._source(sprite, right, down, depth, shift)
        size = (u.shape[1] * _COARSE, u.shape[0] * _COARSE)
        full_u, full_v = (
            _widened(plane, size)[: window.height, : window.width] for plane in (u, v)
        )
        return np.asarray(cv2.remap(sprite.layer, full_u, full_v, cv2.INTER_LINEAR), np.uint8)

    def _source(
        self,
        sprite: _Sprite,
        right: NDArray[np.float32],
        down: NDArray[np.float32],
        depth: NDArray[np.float32],
        shift: NDArray[np.float64],
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        focal = self._camera.focal_px
        now = depth + shift[2]
        u = (right * now - shift[0]) / depth * focal
        v = (down * now - shift[1]) / depth * focal
        u += self._camera.width_px / 2 - sprite.window.left
        v += self._camera.height_px / 2 - sprite.window.top
        return u.astype(np.float32), v.astype(np.float32)


def _coarse_grid(window: Window) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    columns = np.arange(0, window.width + _COARSE, _COARSE, dtype=np.float32) + window.left
    lines = np.arange(0, window.height + _COARSE, _COARSE, dtype=np.float32) + window.top
    across, down = np.meshgrid(columns, lines)
    return across, down


def _looked_up(
    plane: NDArray[np.float32], u: NDArray[np.float32], v: NDArray[np.float32]
) -> NDArray[np.float32]:
    u, v = u * np.float32(1 / _COARSE), v * np.float32(1 / _COARSE)
    found = cv2.remap(plane, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(found, dtype=np.float32)


def _widened(plane: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    """Widen a plane known at every fourth pixel to all of them, its first pixel staying first."""
    move = np.array([[1 / _COARSE, 0, 0], [0, 1 / _COARSE, 0]], dtype=np.float32)
    wide = cv2.warpAffine(
        plane, move, size, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )  # fmt: skip
    return np.asarray(wide, dtype=np.float32)


def _coarse_depth(surface: Surface) -> NDArray[np.float32]:
    """Return every fourth depth, with the car's own depth carried on around it."""
    depth = np.zeros(surface.shape, dtype=np.float32)
    depth.ravel()[surface.at] = surface.depth
    known = np.ascontiguousarray(depth[::_COARSE, ::_COARSE])
    cover = (known > 0).astype(np.float32)
    middle = float(np.median(surface.depth)) if len(surface.depth) else 1.0
    filled = np.full(known.shape, middle, dtype=np.float32)
    empty = cover == 0
    filled[~empty] = known[~empty]
    for size in (3, 9):
        share = np.asarray(cv2.blur(cover, (size, size)))
        take = empty & (share > 1e-3)
        filled[take] = np.asarray(cv2.blur(known, (size, size)))[take] / share[take]
        empty &= ~take
    return filled
