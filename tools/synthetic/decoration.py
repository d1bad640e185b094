"""The marks of a plate beside its number: bands, stars, seals, state names."""

import math
from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.layouts import Band, Colour, Gap, Layout
from tools.synthetic.lettering import Face, stamp_line

Canvas = NDArray[np.float32]
"""Height x width x 3, blue-green-red, 0 to 255 as float32."""

_BAND_WIDTH_MM = 44.0
_GOLD: Colour = (20, 200, 250)
_SHIFT = 4


def writing_area(layout: Layout) -> tuple[float, float, float, float]:
    """Return where the number may stand: left, top, right, bottom in mm."""
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


def draw_decoration(canvas: Canvas, layout: Layout, scale: float) -> None:
    """Draw everything but the number into `canvas` (modified); `scale` is px per mm."""
    _PAINTERS[layout.band](canvas, layout, scale)
    if any(Gap.SEALS in row for row in layout.gaps):
        _seals(canvas, layout, scale)
    if layout.code == "de_two_row":
        _seal(canvas, (layout.width_mm * 0.82, layout.height_mm * 0.28), 20, scale)


def _none(canvas: Canvas, layout: Layout, scale: float) -> None:
    del canvas, layout, scale


def _eu(canvas: Canvas, layout: Layout, scale: float) -> None:
    _side_band(canvas, layout, scale, left_mm=0.0)
    _stars(canvas, (_BAND_WIDTH_MM / 2, layout.height_mm * 0.3), scale)
    _band_letters(canvas, layout, scale)


def _eu_both(canvas: Canvas, layout: Layout, scale: float) -> None:
    _eu(canvas, layout, scale)
    _side_band(canvas, layout, scale, left_mm=layout.width_mm - _BAND_WIDTH_MM)


def _uk(canvas: Canvas, layout: Layout, scale: float) -> None:
    _side_band(canvas, layout, scale, left_mm=0.0)
    left, top, width, height = 8.0, layout.height_mm * 0.18, 28.0, 20.0
    _box(canvas, (left, top, left + width, top + height), (120, 40, 10), scale)
    for (x1, y1, x2, y2), colour, line in (
        ((0, 0, width, height), (240, 240, 240), 4.0),
        ((0, height, width, 0), (240, 240, 240), 4.0),
        ((width / 2, 0, width / 2, height), (240, 240, 240), 7.0),
        ((0, height / 2, width, height / 2), (240, 240, 240), 7.0),
        ((width / 2, 0, width / 2, height), (45, 20, 200), 4.0),
        ((0, height / 2, width, height / 2), (45, 20, 200), 4.0),
    ):
        _line(canvas, (left + x1, top + y1, left + x2, top + y2), colour, line, scale)
    _band_letters(canvas, layout, scale)


def _mercosur(canvas: Canvas, layout: Layout, scale: float) -> None:
    _box(canvas, (0, 0, layout.width_mm, 30), layout.accent, scale)
    centre = (layout.width_mm / 2 * scale, 8 * scale)
    _print(canvas, layout.band_text, centre, 15 * scale, (235, 235, 235))
    _box(canvas, (layout.width_mm - 48, 6, layout.width_mm - 20, 25), (60, 150, 40), scale)
    lozenge = np.array([(-12, 0), (0, -8), (12, 0), (0, 8)]) + (layout.width_mm - 34, 15.5)
    _polygon(canvas, lozenge, (30, 210, 240), scale)
    _disc(canvas, (layout.width_mm - 34, 15.5), 4.5, (140, 50, 20), scale)
    _disc(canvas, (30, 18), 9, (200, 200, 190), scale)
    _box(canvas, (18, 18, 42, 27), layout.accent, scale)


def _state(canvas: Canvas, layout: Layout, scale: float) -> None:
    colour = layout.accent
    centre = layout.width_mm / 2 * scale
    if layout.code == "us_ny":
        _box(canvas, (0, 0, layout.width_mm, 31), colour, scale)
        _box(canvas, (0, 31, layout.width_mm, 33.5), (60, 170, 230), scale)
    name_colour = (235, 235, 235) if layout.code == "us_ny" else colour
    face = Face.ROAD if layout.code == "us_ny" else Face.ROAD_WIDE
    _print(canvas, layout.band_text, (centre, 8 * scale), 17 * scale, name_colour, face)
    if layout.slogan:
        below = (centre, (layout.height_mm - 17) * scale)
        _print(canvas, layout.slogan, below, 8.5 * scale, colour, Face.ROAD)
    for x in (38.0, layout.width_mm - 38.0):
        for y in (10.0, layout.height_mm - 10.0):
            _disc(canvas, (x, y), 3.2, (120, 125, 128), scale)


def _side_band(canvas: Canvas, layout: Layout, scale: float, left_mm: float) -> None:
    _box(canvas, (left_mm, 0, left_mm + _BAND_WIDTH_MM, layout.height_mm), layout.accent, scale)


def _band_letters(canvas: Canvas, layout: Layout, scale: float) -> None:
    height = 26.0 if len(layout.band_text) == 1 else 20.0
    place = (_BAND_WIDTH_MM / 2 * scale, layout.height_mm * 0.64 * scale)
    _print(canvas, layout.band_text, place, height * scale, (240, 240, 240))


def _stars(canvas: Canvas, centre: tuple[float, float], scale: float) -> None:
    for index in range(12):
        angle = index * math.pi / 6
        at = (centre[0] + 13.5 * math.sin(angle), centre[1] - 13.5 * math.cos(angle))
        _polygon(canvas, _star(2.9) + at, _GOLD, scale)


def _star(radius: float) -> NDArray[np.float64]:
    angles = np.arange(10) * math.pi / 5
    radii = np.where(np.arange(10) % 2 == 0, radius, radius * 0.4)
    return np.stack([radii * np.sin(angles), -radii * np.cos(angles)], axis=1)


def _seals(canvas: Canvas, layout: Layout, scale: float) -> None:
    """Draw the two stickers of a one-row German plate where its first gap comes to stand."""
    style = layout.lettering
    left, _, right, _ = writing_area(layout)
    row = layout.rows[0]
    total = sum(len(g) for g in row) * style.pitch_mm + style.gap_mm * len(layout.gaps[0])
    squeeze = min(1.0, (right - left) / total)
    start = left + (right - left - total * squeeze) / 2
    x = start + (len(row[0]) * style.pitch_mm + style.gap_mm / 2) * squeeze
    _seal(canvas, (x, layout.height_mm * 0.29), 16, scale)
    _seal(canvas, (x, layout.height_mm * 0.70), 19, scale)


def _seal(canvas: Canvas, centre: tuple[float, float], radius: float, scale: float) -> None:
    _disc(canvas, centre, radius, (190, 195, 195), scale)
    _disc(canvas, centre, radius * 0.86, (150, 165, 170), scale)
    _disc(canvas, centre, radius * 0.55, (70, 150, 190), scale)
    _disc(canvas, centre, radius * 0.26, (60, 60, 170), scale)


def _print(
    canvas: Canvas,
    text: str,
    centre_top: tuple[float, float],
    height: float,
    colour: Colour,
    face: Face = Face.DIN,
) -> None:
    ink = np.zeros(canvas.shape[:2], dtype=np.float32)
    stamp_line(ink, face, text, centre_top, height)
    canvas += ink[..., None] * (np.array(colour, dtype=np.float32) - canvas)


def _fixed(points: NDArray[np.float64], scale: float) -> NDArray[np.int32]:
    return np.round(points * scale * (1 << _SHIFT)).astype(np.int32)


def _polygon(canvas: Canvas, points: NDArray[np.float64], colour: Colour, scale: float) -> None:
    cv2.fillPoly(canvas, [_fixed(points, scale)], colour, cv2.LINE_8, _SHIFT)


def _box(
    canvas: Canvas, box: tuple[float, float, float, float], colour: Colour, scale: float
) -> None:
    left, top, right, bottom = (round(side * scale) for side in box)
    canvas[max(0, top) : max(0, bottom), max(0, left) : max(0, right)] = colour


def _line(
    canvas: Canvas,
    ends: tuple[float, float, float, float],
    colour: Colour,
    thickness: float,
    scale: float,
) -> None:
    x1, y1, x2, y2 = (round(v * scale) for v in ends)
    cv2.line(canvas, (x1, y1), (x2, y2), colour, max(1, round(thickness * scale)))


def _disc(
    canvas: Canvas, centre: tuple[float, float], radius: float, colour: Colour, scale: float
) -> None:
    place = (round(centre[0] * scale * (1 << _SHIFT)), round(centre[1] * scale * (1 << _SHIFT)))
    cv2.circle(canvas, place, round(radius * scale * (1 << _SHIFT)), colour, -1, cv2.LINE_8, _SHIFT)


_PAINTERS: dict[Band, Callable[[Canvas, Layout, float], None]] = {
    Band.NONE: _none,
    Band.EU: _eu,
    Band.EU_BOTH: _eu_both,
    Band.UK: _uk,
    Band.MERCOSUR: _mercosur,
    Band.STATE: _state,
}
