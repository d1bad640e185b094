"""A car seen from behind: lamps, window, the recess for the plate."""

import numpy as np

from tools.synthetic.car_shapes import CarShape
from tools.synthetic.car_view import (
    CHROME,
    HOLE,
    RED,
    RED_DARK,
    TRIM,
    CarStyle,
    Gloss,
    View,
    box,
    darker,
    pane,
)


def paint_rear(view: View, shape: CarShape, style: CarStyle) -> None:
    """Paint the rear view."""
    low, deck, w = shape.low_z, shape.deck_z, shape.half_width
    tall = deck - low
    trim = TRIM if style.trim else darker(style.paint)
    view.shape(
        [
            (-w * 0.8, low),
            (w * 0.8, low),
            (w * 0.72, low + tall * 0.16),
            (-w * 0.72, low + tall * 0.16),
        ],
        trim,
        Gloss.TRIM,
    )
    view.pair(
        [
            (w * 0.66, low + tall * 0.19),
            (w * 0.92, low + tall * 0.21),
            (w * 0.92, low + tall * 0.25),
            (w * 0.66, low + tall * 0.23),
        ],
        RED_DARK,
        Gloss.LENS,
    )
    view.pair(box(w * 0.55, low + 0.02, 0.055, 0.045), CHROME, Gloss.CHROME)
    view.line([(-w, low + tall * 0.44), (w, low + tall * 0.44)], HOLE, 0.010)
    view.line([(-w * 0.74, low + tall * 0.44), (-w * 0.66, deck - 0.02)], HOLE, 0.008)
    view.line([(w * 0.74, low + tall * 0.44), (w * 0.66, deck - 0.02)], HOLE, 0.008)
    _tail_lamps(view, style, (low + tall * 0.56, low + tall * 0.94), w)
    _rear_recess(view, shape, style)
    _rear_window(view, shape)


def _rear_recess(view: View, shape: CarShape, style: CarStyle) -> None:
    z = shape.rear_plate_z
    view.shape(box(0, z - 0.115, 0.34, 0.24), darker(style.paint), Gloss.PAINT)
    view.shape(box(0, z - 0.105, 0.325, 0.21), darker(darker(style.paint)), Gloss.TRIM)
    view.shape(
        box(0, z + 0.115, 0.26, 0.028), CHROME if style.grille % 2 else TRIM, Gloss.CHROME // 2
    )
    badge_z = z + 0.18
    if badge_z < shape.deck_z - 0.03:
        view.disc((0, badge_z), (0.042, 0.034), CHROME, Gloss.CHROME, both=False)


def _tail_lamps(view: View, style: CarStyle, span: tuple[float, float], w: float) -> None:
    bottom, top = span
    tall = top - bottom
    outlines = (
        [(0.58, 0.35), (1.0, 0.15), (1.0, 0.95), (0.70, 0.90)],
        [(0.80, -0.15), (1.0, -0.10), (1.0, 1.0), (0.84, 1.0)],
        [(0.52, 0.45), (1.0, 0.35), (1.0, 0.80), (0.55, 0.78)],
    )
    body = [(w * x, bottom + tall * z) for x, z in outlines[style.tail]]
    view.pair(body, RED, Gloss.LENS, glow=120)
    centre = np.mean(body, axis=0)
    view.disc(
        (centre[0] + 0.05 * w, centre[1]), (0.06, tall * 0.15), (44, 34, 196), Gloss.LENS, glow=255
    )
    strip = [(x * 0.98, (z + centre[1] * 1.6) / 2.6) for x, z in body]
    view.pair([(x, z - tall * 0.20) for x, z in strip], (150, 148, 170), Gloss.LENS, glow=20)


def _rear_window(view: View, shape: CarShape) -> None:
    low, high = shape.tail_z, shape.roof_rear_z
    w, narrow = shape.half_width * 0.86, shape.roof_half * 0.97
    tall = high - low
    view.shape(pane(w * 0.90, narrow * 0.92, low + tall * 0.06, high - 0.02), HOLE, Gloss.GLASS)
    view.shape(
        pane(w * 0.86, narrow * 0.87, low + tall * 0.11, high - 0.055), (30, 30, 28), Gloss.GLASS
    )
    view.shape(
        pane(w * 0.40, narrow * 0.70, low + tall * 0.50, high - 0.09), (64, 64, 60), Gloss.GLASS
    )
    for x in (-0.38, 0.0, 0.38):
        view.disc(
            (x, low + tall * 0.36), (0.11, tall * 0.20), (20, 20, 20), Gloss.GLASS, both=False
        )
    view.shape(box(0, high - 0.045, 0.16, 0.02), RED_DARK, Gloss.LENS, glow=60)
    view.line([(0, low + tall * 0.09), (w * 0.55, low + tall * 0.30)], (6, 6, 6), 0.016)
