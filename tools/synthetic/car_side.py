"""A car seen from its side: windows, doors, wheels."""

import numpy as np

from tools.synthetic.car_shapes import CarShape
from tools.synthetic.car_view import (
    GLASS,
    HOLE,
    RED,
    RUBBER,
    TRIM,
    CarStyle,
    Colour,
    Gloss,
    Spot,
    View,
    box,
    darker,
)


def paint_side(view: View, shape: CarShape, style: CarStyle) -> None:
    """Paint the side view."""
    trim = TRIM if style.trim else darker(style.paint)
    sill = box(shape.length / 2, shape.low_z, shape.length / 2 - 0.2, 0.1)
    view.shape(sill, trim, Gloss.TRIM)
    _side_windows(view, shape)
    doors = (shape.cowl_y + 0.15, (shape.cowl_y + shape.roof_rear_y) / 2 + 0.2, shape.roof_rear_y)
    for y in doors:
        view.line([(y, shape.low_z + 0.12), (y + 0.05, shape.cowl_z)], HOLE, 0.012)
    for y in doors[1:]:
        view.shape(box(y - 0.16, shape.cowl_z - 0.13, 0.09, 0.03), darker(style.paint), Gloss.PAINT)
    for axle_y in (shape.front_axle_y, shape.rear_axle_y):
        _side_wheel(view, (axle_y, shape.wheel_radius), shape.wheel_radius)
    glow = 110
    lamp_z = shape.low_z + (shape.nose_z - shape.low_z) * 0.78
    view.shape(box(0.26, lamp_z, 0.16, 0.10), (140, 138, 134), Gloss.LENS, glow)
    view.shape(box(shape.length - 0.24, shape.deck_z - 0.22, 0.16, 0.14), RED, Gloss.LENS, glow)


def _side_windows(view: View, shape: CarShape) -> None:
    sill = shape.cowl_z + 0.03
    roof = shape.roof_z - 0.09
    front, back = shape.cowl_y + 0.28, shape.roof_rear_y + (shape.tail_y - shape.roof_rear_y) * 0.5
    pane = [
        (front, sill),
        (shape.roof_front_y + 0.05, roof),
        (shape.roof_rear_y, roof),
        (back, sill + 0.02),
    ]
    view.shape(pane, GLASS, Gloss.GLASS)
    middle = (shape.roof_front_y + shape.roof_rear_y) / 2 + 0.1
    view.shape(
        [(middle, sill), (middle + 0.09, sill), (middle + 0.07, roof), (middle - 0.01, roof)],
        TRIM,
        Gloss.TRIM,
    )


def _side_wheel(view: View, at: Spot, radius: float) -> None:
    def ring(share: float, colour: Colour, gloss: int) -> None:
        view.disc(at, (radius * share, radius * share), colour, gloss, both=False)

    ring(1.2, HOLE, 2)
    ring(1.0, RUBBER, 3)
    ring(0.70, (120, 120, 120), 40)
    ring(0.58, (46, 46, 46), 10)
    for angle in np.arange(5) * 2 * np.pi / 5:
        tip = (at[0] + radius * 0.62 * np.cos(angle), at[1] + radius * 0.62 * np.sin(angle))
        view.line([at, tip], (150, 150, 150), radius * 0.16)
    ring(0.14, (140, 140, 140), 40)
