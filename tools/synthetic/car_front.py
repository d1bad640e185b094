"""A car seen from the front: bumper, grille, lamps, windscreen and who sits behind it."""

import numpy as np

from tools.synthetic.car_shapes import CarShape
from tools.synthetic.car_view import (
    AMBER,
    CHROME,
    GLASS,
    HOLE,
    LENS,
    TRIM,
    CarStyle,
    Colour,
    Gloss,
    Spot,
    View,
    box,
    darker,
    pane,
)


def paint_front(view: View, shape: CarShape, style: CarStyle) -> None:
    """Paint the front view."""
    low, nose, w = shape.low_z, shape.nose_z, shape.half_width
    face = nose - low
    _bumper(view, shape, style, low)
    _grille(view, style, (low + face * 0.60, low + face * 0.86), w)
    view.shape(box(0, shape.front_plate_z - 0.085, 0.30, 0.17), TRIM, Gloss.TRIM)
    _headlamps(view, style, (low + face * 0.68, low + face * 0.96), w)
    view.line([(-w, nose - 0.012), (0, nose + 0.012), (w, nose - 0.012)], HOLE, 0.010)
    view.line(
        [(-w * 0.99, low + face * 0.52), (w * 0.99, low + face * 0.52)], darker(style.paint), 0.012
    )
    view.disc((0, low + face * 0.90), (0.055, 0.045), CHROME, Gloss.CHROME, both=False)
    view.disc((0, low + face * 0.90), (0.034, 0.028), darker(style.paint), Gloss.PAINT, both=False)
    _windscreen(view, shape, style)


def _bumper(view: View, shape: CarShape, style: CarStyle, low: float) -> None:
    w = shape.half_width
    lip = TRIM if style.trim else darker(style.paint)
    view.shape([(-w, low), (w, low), (w, low + 0.06), (-w, low + 0.06)], lip, Gloss.TRIM)
    view.shape(pane(w * 0.62, w * 0.54, low + 0.05, low + 0.19), HOLE, Gloss.TRIM)
    for z in (low + 0.085, low + 0.12, low + 0.155):
        view.line([(-w * 0.58, z), (w * 0.58, z)], (38, 38, 38), 0.012)
    pocket = [(0.66, 0.07), (0.93, 0.09), (0.92, 0.20), (0.70, 0.17)]
    view.pair([(w * x, low + z) for x, z in pocket], HOLE, Gloss.TRIM)
    view.disc((w * 0.80, low + 0.13), (0.05, 0.035), LENS, Gloss.LENS, glow=40)


def _grille(view: View, style: CarStyle, span: tuple[float, float], w: float) -> None:
    bottom, top = span
    wide, narrow = ((0.56, 0.50), (0.42, 0.36), (0.60, 0.44), (0.34, 0.40))[style.grille]
    hole = [(-w * narrow, bottom), (w * narrow, bottom), (w * wide, top), (-w * wide, top)]
    frame = [(x * 1.05, z + (0.015 if z > bottom else -0.015)) for x, z in hole]
    view.shape(frame, CHROME if style.grille % 2 else TRIM, Gloss.CHROME // 2)
    view.shape(hole, HOLE, Gloss.TRIM)
    if style.grille == 3:
        for x in np.linspace(-w * narrow, w * narrow, 13):
            view.line([(x, bottom), (x * 1.05, top)], (70, 70, 70), 0.010)
        return
    for z in np.linspace(bottom, top, 5 if style.grille else 7)[1:-1]:
        half = w * (narrow + (wide - narrow) * (z - bottom) / (top - bottom)) * 0.98
        tone = (120, 119, 118) if style.grille == 1 else (52, 52, 52)
        view.line([(-half, z), (half, z)], tone, 0.012)


def _headlamps(view: View, style: CarStyle, span: tuple[float, float], w: float) -> None:
    bottom, top = span
    tall = top - bottom
    outlines = (
        [(0.58, 0.10), (0.80, 0.0), (0.99, 0.35), (0.985, 0.95), (0.78, 0.72), (0.60, 0.42)],
        [(0.62, 0.0), (0.95, 0.05), (1.0, 0.60), (0.96, 1.0), (0.64, 0.80)],
        [(0.52, 0.30), (0.76, 0.12), (0.98, 0.40), (0.98, 0.80), (0.76, 0.66), (0.52, 0.50)],
    )
    housing = [(w * x, bottom + tall * z) for x, z in outlines[style.lamps]]
    view.pair(housing, (62, 62, 62), Gloss.LENS)
    middle = (w * 0.86, bottom + tall * (0.48 if style.lamps == 1 else 0.44))
    view.disc(middle, (0.085, tall * 0.27), LENS, Gloss.LENS, glow=150)
    view.disc(middle, (0.050, tall * 0.19), (235, 233, 228), Gloss.LENS, glow=255)
    inner = (w * 0.70, bottom + tall * 0.42)
    view.disc(inner, (0.055, tall * 0.18), (150, 149, 146), Gloss.LENS, glow=60)
    view.disc((w * 0.96, bottom + tall * 0.6), (0.025, tall * 0.16), AMBER, Gloss.LENS)
    strip = [(x, z) for x, z in housing if z <= bottom + tall * 0.45]
    if len(strip) > 1:
        view.line(strip, (236, 236, 232), 0.014)
        view.line([(-x, z) for x, z in strip], (236, 236, 232), 0.014)


def _windscreen(view: View, shape: CarShape, style: CarStyle) -> None:
    w, low, high = shape.half_width * 0.90, shape.cowl_z, shape.roof_z - 0.03
    tall, narrow = high - low, shape.roof_half
    view.shape(pane(w * 0.97, narrow * 0.95, low - 0.03, high - 0.015), HOLE, Gloss.GLASS)
    view.shape(pane(w * 0.93, narrow * 0.90, low + 0.02, high - 0.05), GLASS, Gloss.GLASS)
    view.shape(
        pane(w * 0.50, narrow * 0.72, low + tall * 0.48, high - 0.09), (62, 62, 58), Gloss.GLASS
    )
    for side in (-1, 1):
        _occupant(view, (side * 0.36, low), tall, seated=(side > 0) == style.wheel_left)
    view.shape(pane(w * 0.93, w * 0.90, low + 0.02, low + tall * 0.16), (16, 16, 16), Gloss.GLASS)
    driver = 0.36 if style.wheel_left else -0.36
    ring = [
        (driver + 0.16 * np.cos(a), low + tall * 0.16 + 0.10 * np.sin(a))
        for a in np.linspace(0.2, 2.94, 14)
    ]
    view.line(ring, (12, 12, 12), 0.022)
    view.shape(box(0, high - 0.12, 0.10, 0.045), (14, 14, 14), Gloss.GLASS)
    view.line([(-w * 0.85, low + 0.01), (-0.05, low + 0.035)], (8, 8, 8), 0.014)
    view.line([(-0.1, low + 0.01), (w * 0.72, low + 0.035)], (8, 8, 8), 0.014)


def _occupant(view: View, at: Spot, tall: float, seated: bool) -> None:
    x, low = at
    seat: Colour = (34, 34, 34)
    view.disc((x, low + tall * 0.22), (0.22, tall * 0.30), seat, Gloss.GLASS, both=False)
    view.disc((x, low + tall * 0.62), (0.10, tall * 0.14), seat, Gloss.GLASS, both=False)
    if seated:
        view.disc(
            (x, low + tall * 0.24), (0.21, tall * 0.27), (74, 62, 58), Gloss.GLASS, both=False
        )
        view.disc(
            (x, low + tall * 0.60), (0.075, tall * 0.18), (84, 104, 138), Gloss.GLASS, both=False
        )
        view.disc(
            (x, low + tall * 0.70), (0.078, tall * 0.09), (26, 32, 42), Gloss.GLASS, both=False
        )
