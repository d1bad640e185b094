"""What is painted on a car's body: lamps, grille, windows, wheels.

A skin is one picture with the front, the rear and a side view, in the places that `car_shapes`
gives its meshes. No letters anywhere: the plate is the only text on a car.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from synthetic.car_shapes import (
    FACE_PX_PER_M,
    SIDE_PX_PER_M,
    SKIN_SIZE,
    CarShape,
    face_place,
    side_place,
    swatch_place,
)

Colour = tuple[int, int, int]
Spot = tuple[float, float]

_SHIFT = 4
_RUBBER: Colour = (11, 11, 12)
_TRIM: Colour = (30, 30, 31)
_HOLE: Colour = (10, 10, 10)
_CHROME: Colour = (168, 166, 164)
_LENS: Colour = (205, 203, 198)
_GLASS: Colour = (24, 24, 22)
_RED: Colour = (28, 22, 150)
_RED_DARK: Colour = (18, 14, 88)
_AMBER: Colour = (20, 110, 215)

_PAINT_GLOSS, _TRIM_GLOSS, _LENS_GLOSS, _GLASS_GLOSS, _CHROME_GLOSS = 13, 6, 34, 26, 120


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


def random_style(rng: np.random.Generator, wheel_left: bool) -> CarStyle:
    """Return a car's paint and details; colours come as often as on the road."""
    return CarStyle(
        paint=_PAINTS[int(rng.choice(len(_PAINTS), p=_PAINT_SHARES))],
        grille=int(rng.integers(4)),
        lamps=int(rng.integers(3)),
        tail=int(rng.integers(3)),
        trim=bool(rng.random() < 0.5),
        wheel_left=wheel_left,
    )


_PAINTS: tuple[Colour, ...] = (
    (198, 200, 200),
    (38, 36, 35),
    (120, 118, 116),
    (158, 160, 160),
    (110, 62, 30),
    (34, 28, 128),
    (62, 52, 44),
    (64, 84, 60),
    (58, 96, 132),
    (150, 108, 62),
)
_PAINT_SHARES = (0.2, 0.14, 0.16, 0.14, 0.11, 0.09, 0.06, 0.04, 0.03, 0.03)


def paint_skin(shape: CarShape, style: CarStyle) -> Skin:
    """Paint the whole skin of one car."""
    width, height = SKIN_SIZE
    skin = Skin(
        np.full((height, width, 3), style.paint, dtype=np.uint8),
        np.full((height, width), _PAINT_GLOSS, dtype=np.uint8),
        np.zeros((height, width), dtype=np.uint8),
    )
    for name, colour in (("black", _HOLE), ("tyre", _RUBBER)):
        x, y = swatch_place((1,), name)[0]
        cut = np.s_[int(y) - 30 : int(y) + 30, int(x) - 30 : int(x) + 30]
        skin.colour[cut], skin.gloss[cut] = colour, 2
    _front(_View(skin, "front"), shape, style)
    _rear(_View(skin, "rear"), shape, style)
    _side(_View(skin, "side"), shape, style)
    return skin


class _View:
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


def _box(x: float, z: float, half: float, tall: float) -> list[Spot]:
    return [(x - half, z), (x + half, z), (x + half, z + tall), (x - half, z + tall)]


def _front(view: _View, shape: CarShape, style: CarStyle) -> None:
    low, nose, w = shape.low_z, shape.nose_z, shape.half_width
    face = nose - low
    _bumper(view, shape, style, low)
    _grille(view, style, (low + face * 0.60, low + face * 0.86), w)
    view.shape(_box(0, shape.front_plate_z - 0.085, 0.30, 0.17), _TRIM, _TRIM_GLOSS)
    _headlamps(view, style, (low + face * 0.68, low + face * 0.96), w)
    view.line([(-w, nose - 0.012), (0, nose + 0.012), (w, nose - 0.012)], _HOLE, 0.010)
    view.line(
        [(-w * 0.99, low + face * 0.52), (w * 0.99, low + face * 0.52)], _dark(style.paint), 0.012
    )
    view.disc((0, low + face * 0.90), (0.055, 0.045), _CHROME, _CHROME_GLOSS, both=False)
    view.disc((0, low + face * 0.90), (0.034, 0.028), _dark(style.paint), _PAINT_GLOSS, both=False)
    _windscreen(view, shape, style)


def _dark(colour: Colour) -> Colour:
    blue, green, red = (round(channel * 0.45) for channel in colour)
    return blue, green, red


def _bumper(view: _View, shape: CarShape, style: CarStyle, low: float) -> None:
    w = shape.half_width
    lip = _TRIM if style.trim else _dark(style.paint)
    view.shape([(-w, low), (w, low), (w, low + 0.06), (-w, low + 0.06)], lip, _TRIM_GLOSS)
    view.shape(_pane(w * 0.62, w * 0.54, low + 0.05, low + 0.19), _HOLE, _TRIM_GLOSS)
    for z in (low + 0.085, low + 0.12, low + 0.155):
        view.line([(-w * 0.58, z), (w * 0.58, z)], (38, 38, 38), 0.012)
    pocket = [(0.66, 0.07), (0.93, 0.09), (0.92, 0.20), (0.70, 0.17)]
    view.pair([(w * x, low + z) for x, z in pocket], _HOLE, _TRIM_GLOSS)
    view.disc((w * 0.80, low + 0.13), (0.05, 0.035), _LENS, _LENS_GLOSS, glow=40)


def _grille(view: _View, style: CarStyle, span: tuple[float, float], w: float) -> None:
    bottom, top = span
    wide, narrow = ((0.56, 0.50), (0.42, 0.36), (0.60, 0.44), (0.34, 0.40))[style.grille]
    hole = [(-w * narrow, bottom), (w * narrow, bottom), (w * wide, top), (-w * wide, top)]
    frame = [(x * 1.05, z + (0.015 if z > bottom else -0.015)) for x, z in hole]
    view.shape(frame, _CHROME if style.grille % 2 else _TRIM, _CHROME_GLOSS // 2)
    view.shape(hole, _HOLE, _TRIM_GLOSS)
    if style.grille == 3:
        for x in np.linspace(-w * narrow, w * narrow, 13):
            view.line([(x, bottom), (x * 1.05, top)], (70, 70, 70), 0.010)
        return
    for z in np.linspace(bottom, top, 5 if style.grille else 7)[1:-1]:
        half = w * (narrow + (wide - narrow) * (z - bottom) / (top - bottom)) * 0.98
        tone = (120, 119, 118) if style.grille == 1 else (52, 52, 52)
        view.line([(-half, z), (half, z)], tone, 0.012)


def _headlamps(view: _View, style: CarStyle, span: tuple[float, float], w: float) -> None:
    bottom, top = span
    tall = top - bottom
    outlines = (
        [(0.58, 0.10), (0.80, 0.0), (0.99, 0.35), (0.985, 0.95), (0.78, 0.72), (0.60, 0.42)],
        [(0.62, 0.0), (0.95, 0.05), (1.0, 0.60), (0.96, 1.0), (0.64, 0.80)],
        [(0.52, 0.30), (0.76, 0.12), (0.98, 0.40), (0.98, 0.80), (0.76, 0.66), (0.52, 0.50)],
    )
    housing = [(w * x, bottom + tall * z) for x, z in outlines[style.lamps]]
    view.pair(housing, (62, 62, 62), _LENS_GLOSS)
    middle = (w * 0.86, bottom + tall * (0.48 if style.lamps == 1 else 0.44))
    view.disc(middle, (0.085, tall * 0.27), _LENS, _LENS_GLOSS, glow=150)
    view.disc(middle, (0.050, tall * 0.19), (235, 233, 228), _LENS_GLOSS, glow=255)
    inner = (w * 0.70, bottom + tall * 0.42)
    view.disc(inner, (0.055, tall * 0.18), (150, 149, 146), _LENS_GLOSS, glow=60)
    view.disc((w * 0.96, bottom + tall * 0.6), (0.025, tall * 0.16), _AMBER, _LENS_GLOSS)
    strip = [(x, z) for x, z in housing if z <= bottom + tall * 0.45]
    if len(strip) > 1:
        view.line(strip, (236, 236, 232), 0.014)
        view.line([(-x, z) for x, z in strip], (236, 236, 232), 0.014)


def _pane(half_low: float, half_high: float, low: float, high: float) -> list[Spot]:
    return [(-half_low, low), (half_low, low), (half_high, high), (-half_high, high)]


def _windscreen(view: _View, shape: CarShape, style: CarStyle) -> None:
    w, low, high = shape.half_width * 0.90, shape.cowl_z, shape.roof_z - 0.03
    tall, narrow = high - low, shape.roof_half
    view.shape(_pane(w * 0.97, narrow * 0.95, low - 0.03, high - 0.015), _HOLE, _GLASS_GLOSS)
    view.shape(_pane(w * 0.93, narrow * 0.90, low + 0.02, high - 0.05), _GLASS, _GLASS_GLOSS)
    view.shape(
        _pane(w * 0.50, narrow * 0.72, low + tall * 0.48, high - 0.09), (62, 62, 58), _GLASS_GLOSS
    )
    for side in (-1, 1):
        _occupant(view, (side * 0.36, low), tall, seated=(side > 0) == style.wheel_left)
    view.shape(_pane(w * 0.93, w * 0.90, low + 0.02, low + tall * 0.16), (16, 16, 16), _GLASS_GLOSS)
    driver = 0.36 if style.wheel_left else -0.36
    ring = [
        (driver + 0.16 * np.cos(a), low + tall * 0.16 + 0.10 * np.sin(a))
        for a in np.linspace(0.2, 2.94, 14)
    ]
    view.line(ring, (12, 12, 12), 0.022)
    view.shape(_box(0, high - 0.12, 0.10, 0.045), (14, 14, 14), _GLASS_GLOSS)
    view.line([(-w * 0.85, low + 0.01), (-0.05, low + 0.035)], (8, 8, 8), 0.014)
    view.line([(-0.1, low + 0.01), (w * 0.72, low + 0.035)], (8, 8, 8), 0.014)


def _occupant(view: _View, at: Spot, tall: float, seated: bool) -> None:
    x, low = at
    seat: Colour = (34, 34, 34)
    view.disc((x, low + tall * 0.22), (0.22, tall * 0.30), seat, _GLASS_GLOSS, both=False)
    view.disc((x, low + tall * 0.62), (0.10, tall * 0.14), seat, _GLASS_GLOSS, both=False)
    if seated:
        view.disc(
            (x, low + tall * 0.24), (0.21, tall * 0.27), (74, 62, 58), _GLASS_GLOSS, both=False
        )
        view.disc(
            (x, low + tall * 0.60), (0.075, tall * 0.18), (84, 104, 138), _GLASS_GLOSS, both=False
        )
        view.disc(
            (x, low + tall * 0.70), (0.078, tall * 0.09), (26, 32, 42), _GLASS_GLOSS, both=False
        )


def _rear(view: _View, shape: CarShape, style: CarStyle) -> None:
    low, deck, w = shape.low_z, shape.deck_z, shape.half_width
    tall = deck - low
    trim = _TRIM if style.trim else _dark(style.paint)
    view.shape(
        [
            (-w * 0.8, low),
            (w * 0.8, low),
            (w * 0.72, low + tall * 0.16),
            (-w * 0.72, low + tall * 0.16),
        ],
        trim,
        _TRIM_GLOSS,
    )
    view.pair(
        [
            (w * 0.66, low + tall * 0.19),
            (w * 0.92, low + tall * 0.21),
            (w * 0.92, low + tall * 0.25),
            (w * 0.66, low + tall * 0.23),
        ],
        _RED_DARK,
        _LENS_GLOSS,
    )
    view.pair(_box(w * 0.55, low + 0.02, 0.055, 0.045), _CHROME, _CHROME_GLOSS)
    view.line([(-w, low + tall * 0.44), (w, low + tall * 0.44)], _HOLE, 0.010)
    view.line([(-w * 0.74, low + tall * 0.44), (-w * 0.66, deck - 0.02)], _HOLE, 0.008)
    view.line([(w * 0.74, low + tall * 0.44), (w * 0.66, deck - 0.02)], _HOLE, 0.008)
    _tail_lamps(view, style, (low + tall * 0.56, low + tall * 0.94), w)
    _rear_recess(view, shape, style)
    _rear_window(view, shape)


def _rear_recess(view: _View, shape: CarShape, style: CarStyle) -> None:
    z = shape.rear_plate_z
    view.shape(_box(0, z - 0.115, 0.34, 0.24), _dark(style.paint), _PAINT_GLOSS)
    view.shape(_box(0, z - 0.105, 0.325, 0.21), _dark(_dark(style.paint)), _TRIM_GLOSS)
    view.shape(
        _box(0, z + 0.115, 0.26, 0.028), _CHROME if style.grille % 2 else _TRIM, _CHROME_GLOSS // 2
    )
    badge_z = z + 0.18
    if badge_z < shape.deck_z - 0.03:
        view.disc((0, badge_z), (0.042, 0.034), _CHROME, _CHROME_GLOSS, both=False)


def _tail_lamps(view: _View, style: CarStyle, span: tuple[float, float], w: float) -> None:
    bottom, top = span
    tall = top - bottom
    outlines = (
        [(0.58, 0.35), (1.0, 0.15), (1.0, 0.95), (0.70, 0.90)],
        [(0.80, -0.15), (1.0, -0.10), (1.0, 1.0), (0.84, 1.0)],
        [(0.52, 0.45), (1.0, 0.35), (1.0, 0.80), (0.55, 0.78)],
    )
    body = [(w * x, bottom + tall * z) for x, z in outlines[style.tail]]
    view.pair(body, _RED, _LENS_GLOSS, glow=120)
    centre = np.mean(body, axis=0)
    view.disc(
        (centre[0] + 0.05 * w, centre[1]), (0.06, tall * 0.15), (44, 34, 196), _LENS_GLOSS, glow=255
    )
    strip = [(x * 0.98, (z + centre[1] * 1.6) / 2.6) for x, z in body]
    view.pair([(x, z - tall * 0.20) for x, z in strip], (150, 148, 170), _LENS_GLOSS, glow=20)


def _rear_window(view: _View, shape: CarShape) -> None:
    low, high = shape.tail_z, shape.roof_rear_z
    w, narrow = shape.half_width * 0.86, shape.roof_half * 0.97
    tall = high - low
    view.shape(_pane(w * 0.90, narrow * 0.92, low + tall * 0.06, high - 0.02), _HOLE, _GLASS_GLOSS)
    view.shape(
        _pane(w * 0.86, narrow * 0.87, low + tall * 0.11, high - 0.055), (30, 30, 28), _GLASS_GLOSS
    )
    view.shape(
        _pane(w * 0.40, narrow * 0.70, low + tall * 0.50, high - 0.09), (64, 64, 60), _GLASS_GLOSS
    )
    for x in (-0.38, 0.0, 0.38):
        view.disc(
            (x, low + tall * 0.36), (0.11, tall * 0.20), (20, 20, 20), _GLASS_GLOSS, both=False
        )
    view.shape(_box(0, high - 0.045, 0.16, 0.02), _RED_DARK, _LENS_GLOSS, glow=60)
    view.line([(0, low + tall * 0.09), (w * 0.55, low + tall * 0.30)], (6, 6, 6), 0.016)


def _side(view: _View, shape: CarShape, style: CarStyle) -> None:
    trim = _TRIM if style.trim else _dark(style.paint)
    sill = _box(shape.length / 2, shape.low_z, shape.length / 2 - 0.2, 0.1)
    view.shape(sill, trim, _TRIM_GLOSS)
    _side_windows(view, shape)
    doors = (shape.cowl_y + 0.15, (shape.cowl_y + shape.roof_rear_y) / 2 + 0.2, shape.roof_rear_y)
    for y in doors:
        view.line([(y, shape.low_z + 0.12), (y + 0.05, shape.cowl_z)], _HOLE, 0.012)
    for y in doors[1:]:
        view.shape(
            _box(y - 0.16, shape.cowl_z - 0.13, 0.09, 0.03), _dark(style.paint), _PAINT_GLOSS
        )
    for axle_y in (shape.front_axle_y, shape.rear_axle_y):
        _side_wheel(view, (axle_y, shape.wheel_radius), shape.wheel_radius)
    glow = 110
    lamp_z = shape.low_z + (shape.nose_z - shape.low_z) * 0.78
    view.shape(_box(0.26, lamp_z, 0.16, 0.10), (140, 138, 134), _LENS_GLOSS, glow)
    view.shape(_box(shape.length - 0.24, shape.deck_z - 0.22, 0.16, 0.14), _RED, _LENS_GLOSS, glow)


def _side_windows(view: _View, shape: CarShape) -> None:
    sill = shape.cowl_z + 0.03
    roof = shape.roof_z - 0.09
    front, back = shape.cowl_y + 0.28, shape.roof_rear_y + (shape.tail_y - shape.roof_rear_y) * 0.5
    pane = [
        (front, sill),
        (shape.roof_front_y + 0.05, roof),
        (shape.roof_rear_y, roof),
        (back, sill + 0.02),
    ]
    view.shape(pane, _GLASS, _GLASS_GLOSS)
    middle = (shape.roof_front_y + shape.roof_rear_y) / 2 + 0.1
    view.shape(
        [(middle, sill), (middle + 0.09, sill), (middle + 0.07, roof), (middle - 0.01, roof)],
        _TRIM,
        _TRIM_GLOSS,
    )


def _side_wheel(view: _View, at: Spot, radius: float) -> None:
    def ring(share: float, colour: Colour, gloss: int) -> None:
        view.disc(at, (radius * share, radius * share), colour, gloss, both=False)

    ring(1.2, _HOLE, 2)
    ring(1.0, _RUBBER, 3)
    ring(0.70, (120, 120, 120), 40)
    ring(0.58, (46, 46, 46), 10)
    for angle in np.arange(5) * 2 * np.pi / 5:
        tip = (at[0] + radius * 0.62 * np.cos(angle), at[1] + radius * 0.62 * np.sin(angle))
        view.line([at, tip], (150, 150, 150), radius * 0.16)
    ring(0.14, (140, 140, 140), 40)
