"""Draw a mesh into per-pixel surface values: which skin place, which normal, how deep."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from synthetic.camera import Camera
from synthetic.car_shapes import Mesh

Plane = NDArray[np.float32]

_SHIFT = 4
_NEAR_M = 0.8


@dataclass(frozen=True)
class Surface:
    """What is seen in a window of the picture, all height x width (x values), float32.

    `covered` is True where there is any surface; `skin` holds skin pixels, `normal` world axes,
    `place` metres in the mesh's own axes, `depth` metres from the camera.
    """

    covered: NDArray[np.bool_]
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
    """Return the surface seen in a window. The mesh is in world axes, its quads outward."""
    triangles = _visible_triangles(mesh, camera)
    places, depth = camera.project(mesh.points)
    places = places - (window.left, window.top)
    order = np.argsort(-depth[triangles].mean(axis=1))
    triangles = triangles[order]
    index = _painted(places[triangles], window)
    return _surface(index, _gradients(mesh, places, depth, triangles))


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
    for number in np.nonzero(inside)[0]:
        cv2.fillConvexPoly(index, fixed[number], int(number) + 1, cv2.LINE_8, _SHIFT)
    return index


def _gradients(
    mesh: Mesh,
    places: NDArray[np.float64],
    depth: NDArray[np.float64],
    triangles: NDArray[np.int64],
) -> NDArray[np.float32]:
    """For each triangle, each surface value as a plane over the window: per x, per y, constant."""
    values = np.concatenate(
        [mesh.skin, mesh.normals, mesh.points[:, 2:], 1 / np.maximum(depth, 1e-3)[:, None]], axis=1
    )
    corners = np.concatenate([places[triangles], np.ones((len(triangles), 3, 1))], axis=2)
    flat = np.abs(np.linalg.det(corners)) < 1e-3
    corners[flat] = np.eye(3)
    planes = np.linalg.solve(corners, values[triangles])
    planes[flat] = 0
    planes[flat, 2] = values[triangles[flat, 0]]
    return planes.astype(np.float32)


def _surface(index: NDArray[np.int32], planes: NDArray[np.float32]) -> Surface:
    covered = index > 0
    rows, columns = np.nonzero(covered)
    picked = planes[index[rows, columns] - 1]
    values = picked[:, 0] * columns[:, None] + picked[:, 1] * rows[:, None] + picked[:, 2]
    full = np.zeros((*index.shape, values.shape[1]), dtype=np.float32)
    full[rows, columns] = values
    depth = np.zeros(index.shape, dtype=np.float32)
    depth[rows, columns] = 1 / np.maximum(values[:, 6], 1e-4)
    return Surface(covered, full[..., :2], full[..., 2:5], full[..., 5], depth)
