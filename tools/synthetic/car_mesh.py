"""Car bodies as meshes of smooth patches.

Car axes, in metres: x to the car's left as seen from its front, y backwards from the foremost
point, z up from the road. Every patch carries places on the skin (see `car_skins`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.synthetic.car_shapes import CarShape

Grid = NDArray[np.float64]
"""Rows x columns x values."""

SKIN_SIZE = (1300, 1060)
"""Width and height of a skin in pixels."""

FACE_PX_PER_M = 300.0
SIDE_PX_PER_M = 150.0
_FACE_TOP_M = 2.15
_FACE_HALF_M = 1.08
_REAR_LEFT_PX = 650.0
_SIDE_TOP_PX = 690.0
_SWATCHES = {"paint": (880.0, 740.0), "black": (960.0, 740.0), "tyre": (1040.0, 740.0)}


@dataclass(frozen=True)
class Mesh:
    """Quads with smooth normals: `points`, `normals` V x 3, `skin` V x 2 (px), `quads` Q x 4."""

    points: NDArray[np.float64]
    normals: NDArray[np.float64]
    skin: NDArray[np.float64]
    quads: NDArray[np.int64]


def face_place(x: Grid, z: Grid, rear: bool) -> Grid:
    """Return places on the skin's front or rear view, for x and z in metres."""
    left = _REAR_LEFT_PX if rear else 0.0
    sign = -1.0 if rear else 1.0
    u = left + (sign * x + _FACE_HALF_M) * FACE_PX_PER_M
    return np.stack([u, (_FACE_TOP_M - z) * FACE_PX_PER_M], axis=-1)


def side_place(y: Grid, z: Grid) -> Grid:
    """Return places on the skin's side view, for y and z in metres."""
    return np.stack(
        [y * SIDE_PX_PER_M + 10, _SIDE_TOP_PX + (_FACE_TOP_M - z) * SIDE_PX_PER_M], axis=-1
    )


def swatch_place(shape: tuple[int, ...], name: str) -> Grid:
    """Return the place of a plain surface (paint, black, tyre) for a grid of points."""
    return np.broadcast_to(np.array(_SWATCHES[name]), (*shape, 2)).copy()


def body_mesh(shape: CarShape) -> Mesh:
    """Return the whole car, wheels and mirrors included."""
    patches = [_cap(shape, rear=False), _cap(shape, rear=True), *_tops(shape)]
    patches += [_side(shape, sign) for sign in (-1, 1)]
    patches += _wheels(shape) + _mirrors(shape) + [_floor(shape)]
    return _joined(patches)


Patch = tuple[Grid, Grid, float]
"""Points, places on the skin, and the sign that turns normals outwards."""


def _bow(shape: CarShape, across: Grid) -> Grid:
    return shape.cap_bow * np.abs(across) ** 2.6


def _cap_profile(shape: CarShape, z: Grid, rear: bool) -> Grid:
    """How far the face at height z lies behind the bumper's foremost line."""
    bumper_z = shape.low_z + 0.30
    below, above = np.clip(bumper_z - z, 0, None), np.clip(z - bumper_z, 0, None)
    slope = 0.12 if rear else 0.28
    return 0.5 * below**1.5 + slope * above**1.15


def _half_at(shape: CarShape, rise: Grid) -> Grid:
    """Half the width of the lower body, from its low edge (0) to its shoulder (1)."""
    return np.asarray(shape.half_width * (0.93 + 0.07 * np.sin(np.pi * np.clip(rise, 0, 1))))


def _crown(across: Grid) -> Grid:
    """How much the top rises in the middle and falls at its edges."""
    return 0.035 * (1 - np.abs(across) ** 2.2) - 0.03 * np.abs(across) ** 8


def _cap(shape: CarShape, rear: bool) -> Patch:
    top = shape.deck_z if rear else shape.nose_z
    rise, across = np.meshgrid(np.linspace(0, 1, 18), np.linspace(-1, 1, 25), indexing="ij")
    z = shape.low_z + (top + _crown(across) - shape.low_z) * rise
    x = across * _half_at(shape, rise)
    y = _bow(shape, across) + _cap_profile(shape, z, rear)
    if rear:
        y = shape.length - y
    points = np.stack([x, y, z], axis=-1)
    return points, face_place(x, z, rear), -1.0 if rear else 1.0


@dataclass(frozen=True)
class _Station:
    """A line across the top of the car."""

    y: float
    z: float
    half: float


def _stations(shape: CarShape) -> dict[str, tuple[_Station, _Station, float]]:
    """Return each part of the top: where it begins and ends, and how much it bulges."""
    w = shape.half_width
    nose = _Station(0.0, shape.nose_z, w * 0.93)
    cowl = _Station(shape.cowl_y, shape.cowl_z, w * 0.90)
    brow = _Station(shape.roof_front_y, shape.roof_z - 0.03, shape.roof_half)
    back = _Station(shape.roof_rear_y, shape.roof_rear_z, shape.roof_half * 0.97)
    tail = _Station(shape.tail_y, shape.tail_z, w * 0.86)
    deck = _Station(shape.length, shape.deck_z, w * 0.93)
    return {
        "hood": (nose, cowl, 0.055),
        "windscreen": (cowl, brow, 0.035),
        "roof": (brow, back, 0.05),
        "rear_window": (back, tail, 0.03),
        "deck": (tail, deck, 0.02),
    }


def _top_line(shape: CarShape, part: str, steps: int) -> tuple[Grid, Grid, Grid]:
    first, last, bulge = _stations(shape)[part]
    s = np.linspace(0, 1, steps)
    y = first.y + (last.y - first.y) * s
    z = first.z + (last.z - first.z) * s + bulge * 4 * s * (1 - s)
    return y, z, first.half + (last.half - first.half) * s


def _tops(shape: CarShape) -> list[Patch]:
    patches = []
    for part, steps in (
        ("hood", 14), ("windscreen", 10), ("roof", 14), ("rear_window", 10), ("deck", 8),
    ):  # fmt: skip
        line_y, line_z, half = _top_line(shape, part, steps)
        y, across = np.meshgrid(line_y, np.linspace(-1, 1, 23), indexing="ij")
        z = line_z[:, None] + _crown(across)
        x = across * half[:, None]
        y = _rounded_ends(shape, y, across, z)
        points = np.stack([x, y, z], axis=-1)
        if part in ("windscreen", "rear_window"):
            skin = face_place(x, line_z[:, None] + 0 * x, rear=part == "rear_window")
        else:
            skin = swatch_place(x.shape, "paint")
        patches.append((points, skin, 1.0))
    return patches


def _rounded_ends(shape: CarShape, y: Grid, across: Grid, z: Grid) -> Grid:
    """Bend the straight stations so that they start and end on the bowed caps."""
    front = _bow(shape, across) + _cap_profile(shape, z, rear=False)
    tail = _bow(shape, across) + _cap_profile(shape, z, rear=True)
    reach = shape.length - shape.roof_rear_y
    bent = np.where(y < shape.cowl_y, y + front * (1 - y / shape.cowl_y), y)
    left = shape.length - y
    return np.where(y > shape.roof_rear_y, shape.length - left - tail * (1 - left / reach), bent)


def _side(shape: CarShape, sign: int) -> Patch:
    lines = [_top_line(shape, part, steps) for part, steps in (
        ("hood", 14), ("windscreen", 10), ("roof", 14), ("rear_window", 10), ("deck", 8),
    )]  # fmt: skip
    line_y, edge_z, edge_half = (np.concatenate(part) for part in zip(*lines, strict=True))
    edge_z = edge_z - 0.03
    rise = np.linspace(0, 1, 15)
    belt = np.minimum(edge_z - 0.03, shape.cowl_z - 0.02 + 0.04 * line_y / shape.length)
    low = np.clip(rise / 0.55, 0, 1)
    high = np.clip((rise - 0.55) / 0.45, 0, 1)
    z = shape.low_z + (belt[:, None] - shape.low_z) * low + (edge_z - belt)[:, None] * high
    waist = _half_at(shape, low)
    x = waist[None, :] + (edge_half[:, None] - waist[-1]) * high**1.15
    y = _rounded_ends(shape, line_y[:, None] + 0 * z, np.ones_like(z), z)
    points = np.stack([sign * x, y, z], axis=-1)
    return points, side_place(y, z), float(-sign)


def _wheels(shape: CarShape) -> list[Patch]:
    patches = []
    for axle_y in (shape.front_axle_y, shape.rear_axle_y):
        for sign in (-1, 1):
            across = np.array([-1.0, -0.96, -0.75, 0.0, 0.75, 0.96, 1.0])
            middle = (shape.half_width - 0.125) * sign
            turn, width = np.meshgrid(np.linspace(0, 2 * np.pi, 25), across, indexing="ij")
            x = middle + 0.1 * sign * width
            round_shoulder = shape.wheel_radius * (1 - 0.22 * np.abs(width) ** 6)
            y = axle_y + round_shoulder * np.cos(turn)
            z = shape.wheel_radius + round_shoulder * np.sin(turn)
            points = np.stack([x, y, z], axis=-1)
            patches.append((points, swatch_place(x.shape, "tyre"), float(sign)))
    return patches


def _mirrors(shape: CarShape) -> list[Patch]:
    patches = []
    for sign in (-1, 1):
        centre = np.array(
            [sign * (shape.half_width + 0.07), shape.cowl_y + 0.25, shape.cowl_z + 0.06]
        )
        up, around = np.meshgrid(
            np.linspace(0, np.pi, 7), np.linspace(0, 2 * np.pi, 13), indexing="ij"
        )
        ball = np.stack(
            [np.sin(up) * np.cos(around), np.sin(up) * np.sin(around), np.cos(up)], axis=-1
        )
        points = centre + ball * np.array([0.12, 0.07, 0.075])
        patches.append((points, swatch_place(up.shape, "paint"), -1.0))
    return patches


def _floor(shape: CarShape) -> Patch:
    """A dark sheet under the car, so that one cannot look through it."""
    y, x = np.meshgrid(
        np.linspace(0.25, shape.length - 0.25, 6),
        np.linspace(-1, 1, 4) * shape.half_width * 0.9,
        indexing="ij",
    )
    points = np.stack([x, y, np.full_like(x, shape.low_z + 0.02)], axis=-1)
    return points, swatch_place(x.shape, "black"), 1.0


def _joined(patches: list[Patch]) -> Mesh:
    points, normals, skin, quads = [], [], [], []
    start = 0
    for grid, places, sign in patches:
        rows, columns = grid.shape[:2]
        points.append(grid.reshape(-1, 3))
        normals.append(_normals(grid, sign).reshape(-1, 3))
        skin.append(places.reshape(-1, 2))
        index = start + np.arange(rows * columns).reshape(rows, columns)
        quads.append(
            np.stack([index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]], axis=-1)
            .reshape(-1, 4)
        )  # fmt: skip
        start += rows * columns
    join: Callable[..., NDArray[np.float64]] = np.concatenate
    return Mesh(join(points), join(normals), join(skin), np.concatenate(quads))


def _normals(grid: Grid, sign: float) -> Grid:
    along, across = np.gradient(grid, axis=0), np.gradient(grid, axis=1)
    normal = sign * np.cross(across, along)
    length = np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.asarray(normal / np.maximum(length, 1e-9))
