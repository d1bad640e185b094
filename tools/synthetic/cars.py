"""A car as it stands on the road: which body, which plate, driving which way."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from tools.synthetic.car_mesh import Mesh, body_mesh
from tools.synthetic.car_shapes import CarShape
from tools.synthetic.car_skins import paint_skin
from tools.synthetic.car_view import CarStyle, Skin
from tools.synthetic.ground import LANE_X_M, road_height
from tools.synthetic.layouts import Layout
from tools.synthetic.plates import Plate
from tools.synthetic.shading import Light

Vectors = NDArray[np.float64]
"""N x 3."""


class Heading(Enum):
    """Which way a car drives, seen from the camera. Traffic keeps to the right."""

    TOWARDS = "towards"
    AWAY = "away"


@dataclass(frozen=True)
class Pose:
    """A body of a shape in its lane, with a plate of a layout. Its place is the world y, in metres,
    of the end we see the plate on."""

    shape: CarShape
    layout: Layout
    heading: Heading
    lane_offset_m: float = 0.0

    @property
    def lane_x(self) -> float:
        """World x of the car's middle, metres."""
        side = -1 if self.heading is Heading.TOWARDS else 1
        return side * LANE_X_M + self.lane_offset_m

    @property
    def rear(self) -> bool:
        """Whether we see the car from behind."""
        return self.heading is Heading.AWAY

    def turned(self, vectors: Vectors) -> Vectors:
        """Turn vectors (N x 3) from car axes to world axes."""
        return np.asarray(vectors * np.array([-1.0, -1.0, 1.0] if self.rear else [1.0, 1.0, 1.0]))

    def world(self, points: Vectors, y: float) -> Vectors:
        """Move points (N x 3) from car axes to world axes with the car at y."""
        start = y + self.shape.length if self.rear else y
        return np.asarray(self.turned(points) + np.array([self.lane_x, start, road_height(y)]))

    def plate_corners(self, y: float) -> Vectors:
        """Return the plate's corners in world axes (4 x 3), clockwise from its top left as read."""
        half, tall = self.layout.width_mm / 2000, self.layout.height_mm / 2000
        middle = self.shape.rear_plate_z if self.rear else self.shape.front_plate_z
        out, lean = (self.shape.length - 0.005, -0.06) if self.rear else (-0.015, 0.05)
        left = half if self.rear else -half
        corners = [
            (x, out + lean * z, middle + z)
            for x, z in ((left, tall), (-left, tall), (-left, -tall), (left, -tall))
        ]
        return self.world(np.array(corners), y)

    def lamps(self, y: float) -> Vectors:
        """Return the world places (2 x 3) of the lamps at the end we see."""
        low, w = self.shape.low_z, self.shape.half_width
        top = self.shape.deck_z if self.rear else self.shape.nose_z
        z = low + (top - low) * (0.75 if self.rear else 0.80)
        out = self.shape.length - 0.12 if self.rear else 0.12
        return self.world(np.array([(-w * 0.86, out, z), (w * 0.86, out, z)]), y)


@dataclass(frozen=True)
class Car:
    """A car ready to be drawn: where it stands, its body in car axes, its skin and its plate."""

    pose: Pose
    light: Light
    mesh: Mesh
    skin: Skin
    plate: Plate
    outline: Vectors
    """The mesh's outermost points: their bounds and shadow are those of the whole body."""

    def stood_at(self, y: float) -> Mesh:
        """Return the mesh in world axes with the car at y."""
        mesh = self.mesh
        return Mesh(
            self.pose.world(mesh.points, y), self.pose.turned(mesh.normals), mesh.skin, mesh.quads
        )


def build_car(pose: Pose, style: CarStyle, plate: Plate, light: Light) -> Car:
    """Return a car with its mesh made and its skin painted."""
    mesh = body_mesh(pose.shape)
    skin = paint_skin(pose.shape, style)
    return Car(pose, light, mesh, skin, plate, _outermost(mesh.points))


def _outermost(points: Vectors) -> Vectors:
    """Return the points that lie farthest out in any of many directions."""
    directions = np.random.default_rng(0).standard_normal((240, 3))
    return np.asarray(points[np.unique(np.argmax(points @ directions.T, axis=0))])
