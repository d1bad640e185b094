"""A car's skin and the brush that paints it, in metres."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.car_mesh import FACE_PX_PER_M, SIDE_PX_PER_M, face_place, side_place

Colour = tuple[int, int, int]
"""Blue, green, red, 0 to 255."""

Spot = tuple[float, float]
"""A place on a view: x (front and rear) or y (side), and z, in metres."""

_SHIFT = 4

RUBBER: Colour = (11, 11, 12)
TRIM: Colour = (30, 30, 31)
HOLE: Colour = (10, 10, 10)
CHROME: Colour = (168, 166, 164)
LENS: Colour = (205, 203, 198)
GLASS: Colour = (24, 24, 22)
RED: Colour = (28, 22, 150)
RED_DARK: Colour = (18, 14, 88)
AMBER: Colour = (20, 110, 215)


class Gloss(IntEnum):
    """How much light a surface mirrors at right angles, 255 being all."""

    TRIM = 6
    PAINT = 13
    GLASS = 26
    LENS = 34
    CHROME = 120


@dataclass(frozen=True)
class Skin:
    """`colour` height x width x 3 uint8 BGR; `gloss` 0 to 255, reflection at right angles;
    `glow` 0 to 255, how much a lit lamp shines there."""

    colour: NDArray[np.uint8]
    gloss: NDArray[np.uint8]
    glow: NDArray[np.uint8]


@dataclass(frozen=True)
class CarStyle:
    """How one car is painted. `wheel_left`: the driver sits on the car's left."""

    paint: Colour
    grille: int
    lamps: int
    tail: int
    trim: bool
    wheel_left: bool


class View:
    """Paints one view of a skin in metres."""

    def __init__(self, skin: Skin, name: str) -> None:
        self._skin = skin
        self._name = name
        self._scale = SIDE_PX_PER_M if name == "side" else FACE_PX_PER_M

    def shape(self, spots: Sequence[Spot], colour: Colour, gloss: int, glow: int = 0) -> None:
        """Fill a polygon of (x or y, z) places."""
        points = [self._pixels(spots)]
        for layer, value in self._layers(colour, gloss, glow):
            cv2.fillPoly(layer, points, value, cv2.LINE_AA, _SHIFT)

    def pair(self, spots: Sequence[Spot], colour: Colour, gloss: int, glow: int = 0) -> None:
        """Fill a polygon on both sides of the car's middle."""
        self.shape(spots, colour, gloss, glow)
        self.shape([(-x, z) for x, z in spots], colour, gloss, glow)

    def disc(
        self, at: Spot, radii: Spot, colour: Colour, gloss: int, glow: int = 0, both: bool = True
    ) -> None:
        """Fill an ellipse, on both sides of the middle unless told otherwise."""
        angles = np.linspace(0, 2 * np.pi, 33)[:-1]
        ring = [(at[0] + radii[0] * np.cos(a), at[1] + radii[1] * np.sin(a)) for a in angles]
        (self.pair if both else self.shape)(ring, colour, gloss, glow)

    def line(self, spots: Sequence[Spot], colour: Colour, width_m: float) -> None:
        """Draw an open line of paint-like gloss: a gap between panels, a strip."""
        points = [self._pixels(spots)]
        thickness = max(1, round(width_m * self._scale))
        cv2.polylines(self._skin.colour, points, False, colour, thickness, cv2.LINE_AA, _SHIFT)

    def _pixels(self, spots: Sequence[Spot]) -> NDArray[np.int32]:
        first, z = (np.array(part, dtype=np.float64) for part in zip(*spots, strict=True))
        if self._name == "side":
            places = side_place(first, z)
        else:
            places = face_place(first, z, rear=self._name == "rear")
        return np.round(places * (1 << _SHIFT)).astype(np.int32)

    def _layers(
        self, colour: Colour, gloss: int, glow: int
    ) -> list[tuple[NDArray[np.uint8], tuple[int, ...]]]:
        return [
            (self._skin.colour, colour),
            (self._skin.gloss, (gloss,)),
            (self._skin.glow, (glow,)),
        ]


def box(x: float, z: float, half: float, tall: float) -> list[Spot]:
    """Return a rectangle around x, standing on z."""
    return [(x - half, z), (x + half, z), (x + half, z + tall), (x - half, z + tall)]


def pane(half_low: float, half_high: float, low: float, high: float) -> list[Spot]:
    """Return a trapezoid around the middle, from its half widths and heights."""
    return [(-half_low, low), (half_low, low), (half_high, high), (-half_high, high)]


def darker(colour: Colour) -> Colour:
    """Return a colour in shade."""
    blue, green, red = (round(channel * 0.45) for channel in colour)
    return blue, green, red
