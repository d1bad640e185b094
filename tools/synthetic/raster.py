"""Draw a mesh into per-pixel surface values: which skin place, which normal, how deep."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.camera import Camera
from tools.synthetic.car_mesh import Mesh

Plane = NDArray[np.float32]

_SHIFT = 4
_NEAR_M = 0.8


@dataclass(frozen=True)
class Surface:
    """What is seen in a window of the picture, for its N covered pixels only, float32.

    `shape` is the window's height and width, `at` the covered pixels' flat places in it; `skin`
    2 x N skin pixels, `normal` 3 x N world axes, `height` N metres above the road, `depth` N metres
    from the camera.
    """

    shape: tuple[int, int]
    at: NDArray[np.int64]
    skin: Plane
    normal: Plane
    height: Plane
    depth: Plane


@dataclass(frozen=True)
class Window:
    """A rectangle of the picture (which it may overhang), in pixels."""

    left: int
    top: int
    width: int
    height: int


def draw(mesh: Mesh, camera: Camera, window: Window) -> Surface:
    """Return the surface seen in a window. The mesh is in world axes, its normals outward."""
    triangles = _visible_triangles(mesh, camera)
    places, depth = camera.project(mesh.points)
    places = places - (window.left, window.top)
    order = np.argsort(-depth[triangles].mean(axis=1))
    triangles = triangles[order]
    index = _painted(places[triangles], window)
    return _surface(index, _planes(mesh, places, depth, triangles))


def _visible_triangles(mesh: Mesh, camera: Camera) -> NDArray[np.int64]:
    quads = mesh.quads
    centre = mesh.points[quads].mean(axis=1)
    normal = mesh.normals[quads].mean(axis=1)
    towards = np.array(camera.place) - centre
    depth = camera.seen(mesh.points)[:, 2][quads].min(axis=1)
    facing = (np.einsum("ij,ij->i", normal, towards) > 0) & (depth > _NEAR_M)
    kept = quads[facing]
    return np.concatenate([kept[:, [0, 1, 2]], kept[:, [0, 2, 3]]])


def _painted(corners: NDArray[np.float64], window: Window) -> NDArray[np.int32]:
    """Paint triangle numbers (from 1) far to near."""
    index = np.zeros((window.height, window.width), dtype=np.int32)
    fixed = np.round(corners * (1 << _SHIFT)).astype(np.int32)
    low, high = corners.min(axis=1), corners.max(axis=1)
    inside = (high >= 0).all(axis=1) & (low[:, 0] < window.width) & (low[:, 1] < window.height)
    for number in np.nonzero(inside)[0].tolist():
        cv2.fillConvexPoly(index, fixed[number], number + 1, cv2.LINE_8, _SHIFT)
    return index


def _planes(
    mesh: Mesh,
    places: NDArray[np.float64],
    depth: NDArray[np.float64],
    triangles: NDArray[np.int64],
) -> NDArray[np.float32]:
    """For each surface value and triangle its plane over the window: per x, per y, constant."""
    values = np.concatenate(
        [mesh.skin, mesh.normals, mesh.points[:, 2:], 1 / np.maximum(depth, 1e-3)[:, None]], axis=1
    )
    corners = np.concatenate([places[triangles], np.ones((len(triangles), 3, 1))], axis=2)
    flat = np.abs(np.linalg.det(corners)) < 1e-3
    corners[flat] = np.eye(3)
    planes = np.linalg.solve(corners, values[triangles])
    planes[flat] = 0
    planes[flat, 2] = values[triangles[flat, 0]]
    return np.ascontiguousarray(planes.transpose(2, 1, 0), dtype=np.float32)


def _surface(index: NDArray[np.int32], planes: NDArray[np.float32]) -> Surface:
    at = np.flatnonzero(index)
    which = index.ravel()[at] - 1
    rows, columns = np.divmod(at, index.shape[1])
    x, y = columns.astype(np.float32), rows.astype(np.float32)
    values = np.empty((len(planes), len(at)), dtype=np.float32)
    for value, (per_x, per_y, constant) in zip(values, planes, strict=True):
        np.multiply(per_x[which], x, out=value)
        value += per_y[which] * y
        value += constant[which]
    depth = 1 / np.maximum(values[6], np.float32(1e-4))
    return Surface(index.shape, at, values[:2], values[2:5], values[5], depth)
