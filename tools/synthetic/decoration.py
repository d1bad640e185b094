"""Draws the marks on a plate other than the number: bands, stars, seals and state names."""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.layouts import Band, Colour, Gap, Layout
from tools.synthetic.lettering import PIXELS_PER_MM, Face, stamp_line

Canvas = NDArray[np.float32]
"""An image as height x width x 3 values from 0 to 255, in BGR order, as float32."""

_BAND_WIDTH_MM = 44.0
_GOLD: Colour = (20, 200, 250)
_PAPER: Colour = (240, 240, 240)
_SHIFT = 4
_FIXED_PER_MM = PIXELS_PER_MM * (1 << _SHIFT)


def writing_area(layout: Layout) -> tuple[float, float, float, float]:
    """Return the area of the plate for the number: left, top, right and bottom in mm."""
    left, right = 12.0, layout.width_mm - 14.0
    top, bottom = 0.0, layout.height_mm
    if layout.band in (Band.EU, Band.UK, Band.EU_BOTH):
        left = _BAND_WIDTH_MM + 6
    if layout.band is Band.EU_BOTH:
        right = layout.width_mm - _BAND_WIDTH_MM - 6
    if layout.band is Band.MERCOSUR:
        top = 34.0
    if layout.band is Band.STATE:
        top, bottom = 32.0, layout.height_mm - 22.0
    return left, top, right, bottom


def draw_decoration(canvas: Canvas, layout: Layout) -> None:
    """Draw everything except the number on `canvas`, which is modified."""
    match layout.band:
        case Band.EU | Band.EU_BOTH:
            _eu(canvas, layout)
        case Band.UK:
            _uk(canvas, layout)
        case Band.MERCOSUR:
            _mercosur(canvas, layout)
        case Band.STATE:
            _state(canvas, layout)
    if any(Gap.SEALS in row for row in layout.gaps):
        _seals(canvas, layout)
    if layout.code == "de_two_row":
        _seal(canvas, (layout.width_mm * 0.82, layout.height_mm * 0.28), 20)


def _eu(canvas: Canvas, layout: Layout) -> None:
    _side_band(canvas, layout, left_mm=0.0)
    for index in range(12):
        angle = index * math.pi / 6
        at = (22 + 13.5 * math.sin(angle), layout.height_mm * 0.3 - 13.5 * math.cos(angle))
        _polygon(canvas, _star(2.9) + at, _GOLD)
    _band_letters(canvas, layout)
    if layout.band is Band.EU_BOTH:
        _side_band(canvas, layout, left_mm=layout.width_mm - _BAND_WIDTH_MM)


def _uk(canvas: Canvas, layout: Layout) -> None:
    _side_band(canvas, layout, left_mm=0.0)
    left, top, width, height = 8.0, layout.height_mm * 0.18, 28.0, 20.0
    _box(canvas, (left, top, left + width, top + height), (120, 40, 10))
    upright, level = (width / 2, 0, width / 2, height), (0, height / 2, width, height / 2)
    for (x1, y1, x2, y2), colour, line in (
        ((0, 0, width, height), _PAPER, 4.0),
        ((0, height, width, 0), _PAPER, 4.0),
        (upright, _PAPER, 7.0),
        (level, _PAPER, 7.0),
        (upright, (45, 20, 200), 4.0),
        (level, (45, 20, 200), 4.0),
    ):
        _line(canvas, (left + x1, top + y1, left + x2, top + y2), colour, line)
    _band_letters(canvas, layout)


def _mercosur(canvas: Canvas, layout: Layout) -> None:
    _box(canvas, (0, 0, layout.width_mm, 30), layout.accent)
    _print(canvas, layout.band_text, (layout.width_mm / 2, 8), 15, (235, 235, 235))
    _box(canvas, (layout.width_mm - 48, 6, layout.width_mm - 20, 25), (60, 150, 40))
    lozenge = np.array([(-12, 0), (0, -8), (12, 0), (0, 8)]) + (layout.width_mm - 34, 15.5)
    _polygon(canvas, lozenge, (30, 210, 240))
    _disc(canvas, (layout.width_mm - 34, 15.5), 4.5, (140, 50, 20))
    _disc(canvas, (30, 18), 9, (200, 200, 190))
    _box(canvas, (18, 18, 42, 27), layout.accent)


def _state(canvas: Canvas, layout: Layout) -> None:
    colour = layout.accent
    centre = layout.width_mm / 2
    if layout.code == "us_ny":
        _box(canvas, (0, 0, layout.width_mm, 31), colour)
        _box(canvas, (0, 31, layout.width_mm, 33.5), (60, 170, 230))
    name_colour = (235, 235, 235) if layout.code == "us_ny" else colour
    face = Face.ROAD if layout.code == "us_ny" else Face.ROAD_WIDE
    _print(canvas, layout.band_text, (centre, 8), 17, name_colour, face)
    if layout.slogan:
        _print(canvas, layout.slogan, (centre, layout.height_mm - 17), 8.5, colour, Face.ROAD)
    for x in (38.0, layout.width_mm - 38.0):
        for y in (10.0, layout.height_mm - 10.0):
            _disc(canvas, (x, y), 3.2, (120, 125, 128))


def _side_band(canvas: Canvas, layout: Layout, left_mm: float) -> None:
    _box(canvas, (left_mm, 0, left_mm + _BAND_WIDTH_MM, layout.height_mm), layout.accent)


def _band_letters(canvas: Canvas, layout: Layout) -> None:
    height = 26.0 if len(layout.band_text) == 1 else 20.0
    place = (_BAND_WIDTH_MM / 2, layout.height_mm * 0.64)
    _print(canvas, layout.band_text, place, height, _PAPER)


def _star(radius: float) -> NDArray[np.float64]:
    angles = np.arange(10) * math.pi / 5
    radii = np.where(np.arange(10) % 2 == 0, radius, radius * 0.4)
    return np.stack([radii * np.sin(angles), -radii * np.cos(angles)], axis=1)


def _seals(canvas: Canvas, layout: Layout) -> None:
    """Draw the two stickers of a one-row German plate in the first gap."""
    style = layout.lettering
    left, _, right, _ = writing_area(layout)
    row = layout.rows[0]
    total = sum(len(g) for g in row) * style.pitch_mm + style.gap_mm * len(layout.gaps[0])
    squeeze = min(1.0, (right - left) / total)
    start = left + (right - left - total * squeeze) / 2
    x = start + (len(row[0]) * style.pitch_mm + style.gap_mm / 2) * squeeze
    _seal(canvas, (x, layout.height_mm * 0.29), 16)
    _seal(canvas, (x, layout.height_mm * 0.70), 19)


def _seal(canvas: Canvas, centre: tuple[float, float], radius: float) -> None:
    _disc(canvas, centre, radius, (190, 195, 195))
    _disc(canvas, centre, radius * 0.86, (150, 165, 170))
    _disc(canvas, centre, radius * 0.55, (70, 150, 190))
    _disc(canvas, centre, radius * 0.26, (60, 60, 170))


def _print(
    canvas: Canvas,
    text: str,
    centre_top: tuple[float, float],
    height: float,
    colour: Colour,
    face: Face = Face.DIN,
) -> None:
    ink = np.zeros(canvas.shape[:2], dtype=np.float32)
    x, y = (side * PIXELS_PER_MM for side in centre_top)
    stamp_line(ink, face, text, (x, y), height * PIXELS_PER_MM)
    canvas += ink[..., None] * (np.array(colour, dtype=np.float32) - canvas)


def _polygon(canvas: Canvas, points: NDArray[np.float64], colour: Colour) -> None:
    fixed = np.round(points * _FIXED_PER_MM).astype(np.int32)
    cv2.fillPoly(canvas, [fixed], colour, cv2.LINE_8, _SHIFT)


def _disc(canvas: Canvas, centre: tuple[float, float], radius: float, colour: Colour) -> None:
    place = (round(centre[0] * _FIXED_PER_MM), round(centre[1] * _FIXED_PER_MM))
    cv2.circle(canvas, place, round(radius * _FIXED_PER_MM), colour, -1, cv2.LINE_8, _SHIFT)


def _box(canvas: Canvas, box: tuple[float, float, float, float], colour: Colour) -> None:
    left, top, right, bottom = (round(side * PIXELS_PER_MM) for side in box)
    canvas[max(0, top) : max(0, bottom), max(0, left) : max(0, right)] = colour


def _line(
    canvas: Canvas, ends: tuple[float, float, float, float], colour: Colour, thickness: float
) -> None:
    x1, y1, x2, y2 = (round(v * PIXELS_PER_MM) for v in ends)
    cv2.line(canvas, (x1, y1), (x2, y2), colour, max(1, round(thickness * PIXELS_PER_MM)))
