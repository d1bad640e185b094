"""A fixed pinhole camera above a road."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""N x 3 world points in metres: x to the right, y along the road away from the camera, z up."""

# Focal length of the picture width: a tele lens, as number-plate cameras have.
_FOCAL_OF_WIDTH = 2.92


@dataclass(frozen=True)
class Camera:
    """Where the camera stands and looks. Angles in radians, the place in metres."""

    width_px: int
    height_px: int
    place: tuple[float, float, float] = (0.22, 0.0, 2.65)
    pitch: float = 0.0585
    yaw: float = 0.004
    roll: float = 0.011

    @property
    def focal_px(self) -> float:
        """Focal length in pixels of this picture."""
        return _FOCAL_OF_WIDTH * self.width_px

    @property
    def rotation(self) -> NDArray[np.float64]:
        """3 x 3, world axes to camera axes (right, down, forward)."""
        cp, sp = math.cos(self.pitch), math.sin(self.pitch)
        cy, sy = math.cos(self.yaw), math.sin(self.yaw)
        cr, sr = math.cos(self.roll), math.sin(self.roll)
        level = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], dtype=np.float64)
        nod = np.array([[1, 0, 0], [0, cp, -sp], [0, sp, cp]])
        turn = np.array([[cy, 0, -sy], [0, 1, 0], [sy, 0, cy]])
        tilt = np.array([[cr, sr, 0], [-sr, cr, 0], [0, 0, 1]])
        return np.asarray(tilt @ nod @ turn @ level)

    def seen(self, points: Points) -> Points:
        """Return world points in camera axes (right, down, forward), metres."""
        return np.asarray((points - np.array(self.place)) @ self.rotation.T)

    def project(self, points: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return pixel places (N x 2) and depths in metres (N); only depths above 0 are in view."""
        seen = self.seen(points)
        depth = seen[:, 2]
        safe = np.where(np.abs(depth) < 1e-6, 1e-6, depth)
        centre = np.array([self.width_px / 2, self.height_px / 2])
        return seen[:, :2] / safe[:, None] * self.focal_px + centre, depth

    def ground(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return for each pixel the world x and y of the level ground seen there.

        Both are height x width float32 in metres; NaN above the horizon.
        """
        columns = (np.arange(self.width_px) - self.width_px / 2) / self.focal_px
        lines = (np.arange(self.height_px) - self.height_px / 2) / self.focal_px
        right, down = np.meshgrid(columns, lines)
        rays = np.stack([right, down, np.ones_like(right)], axis=-1) @ self.rotation
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(rays[..., 2] < -1e-6, -self.place[2] / rays[..., 2], np.nan)
        x = self.place[0] + reach * rays[..., 0]
        y = self.place[1] + reach * rays[..., 1]
        return x.astype(np.float32), y.astype(np.float32)
