"""One rendered number plate: picture, text and layout."""

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.decoration import draw_decoration, writing_area
from tools.synthetic.layouts import LAYOUTS, Band, Gap, Layout
from tools.synthetic.lettering import Mask, natural_width, stamp
from tools.synthetic.plate_numbers import PlateNumber, number_of, random_number
from tools.synthetic.wear import Wear, emboss, weather

Picture = NDArray[np.uint8]
"""Height x width x 3, blue-green-red, 0 to 255."""

PIXELS_PER_MM = 2.0
"""Resolution at which plates are drawn; a 520 mm plate is 1040 px wide."""


@dataclass(frozen=True)
class Plate:
    """A drawn plate.

    `image` is the plate seen from straight ahead, uint8 BGR; `alpha` is its rounded outline,
    float32 0 to 1, same height and width; `text` is the truth, A-Z0-9.
    """

    layout: Layout
    text: str
    image: Picture
    alpha: Mask


def random_plate(rng: np.random.Generator, layout: Layout | None = None) -> Plate:
    """Draw a plate with a random number, wear and, if none is given, a random layout."""
    chosen = layout or LAYOUTS[int(rng.integers(len(LAYOUTS)))]
    return render_plate(chosen, random_number(chosen, rng), rng)


def plate_with_text(layout: Layout, text: str, rng: np.random.Generator) -> Plate:
    """Draw a plate with a given normalised text.

    Raises ValueError if the layout cannot make this text.
    """
    return render_plate(layout, number_of(layout, text), rng)


def render_plate(
    layout: Layout, number: PlateNumber, rng: np.random.Generator, wear: Wear | None = None
) -> Plate:
    """Draw a plate. The same arguments and generator state give the same pixels."""
    width, height = (round(side * PIXELS_PER_MM) for side in (layout.width_mm, layout.height_mm))
    canvas = np.empty((height, width, 3), dtype=np.float32)
    canvas[:] = layout.background
    draw_decoration(canvas, layout, PIXELS_PER_MM)
    ink = _written(layout, number, (height, width))
    canvas += ink[..., None] * (np.array(layout.ink, dtype=np.float32) - canvas)
    relief = ink + _border(canvas, layout)
    if layout.lettering.embossed:
        emboss(canvas, relief, PIXELS_PER_MM)
    used = wear or Wear.random(rng)
    # American plates hang on the bolts that their decoration draws.
    weather(canvas, replace(used, screws=used.screws and layout.band is not Band.STATE), rng)
    image = np.clip(canvas, 0, 255).astype(np.uint8)
    return Plate(layout, number.text, image, rounded_alpha(width, height, 10 * PIXELS_PER_MM))


def rounded_alpha(width: int, height: int, radius: float) -> Mask:
    """Return the mask of a rectangle with round corners, 0 outside to 1 inside."""
    mask = np.zeros((height, width), dtype=np.uint8)
    r = round(radius)
    cv2.rectangle(mask, (r, 0), (width - r - 1, height - 1), 255, -1)
    cv2.rectangle(mask, (0, r), (width - 1, height - r - 1), 255, -1)
    for x in (r, width - r - 1):
        for y in (r, height - r - 1):
            cv2.circle(mask, (x, y), r, 255, -1, cv2.LINE_AA)
    return np.divide(mask, 255, dtype=np.float32)


def _border(canvas: NDArray[np.float32], layout: Layout) -> Mask:
    height, width = canvas.shape[:2]
    if not layout.border:
        return np.zeros((height, width), dtype=np.float32)
    inset, line = 3 * PIXELS_PER_MM, 2.5 * PIXELS_PER_MM
    outer = rounded_alpha(width - round(2 * inset), height - round(2 * inset), 8 * PIXELS_PER_MM)
    inner = rounded_alpha(
        width - round(2 * (inset + line)),
        height - round(2 * (inset + line)),
        6 * PIXELS_PER_MM,
    )
    ring = np.zeros((height, width), dtype=np.float32)
    _place(ring, outer)
    hole = np.zeros_like(ring)
    _place(hole, inner)
    np.maximum(ring - hole, 0, out=ring)
    canvas += ring[..., None] * (np.array(layout.ink, dtype=np.float32) - canvas)
    return ring


def _place(target: Mask, part: Mask) -> None:
    top = (target.shape[0] - part.shape[0]) // 2
    left = (target.shape[1] - part.shape[1]) // 2
    target[top : top + part.shape[0], left : left + part.shape[1]] = part


def _written(layout: Layout, number: PlateNumber, shape: tuple[int, int]) -> Mask:
    ink = np.zeros(shape, dtype=np.float32)
    left, top, right, bottom = writing_area(layout)
    letter_height = layout.lettering.height_mm
    spare = (bottom - top - letter_height * len(number.rows)) / (len(number.rows) + 1)
    for index, (groups, gaps) in enumerate(zip(number.rows, layout.gaps, strict=True)):
        row_top = top + spare * (index + 1) + letter_height * index
        _write_row(ink, layout, groups, gaps, (left, row_top, right))
    return ink


def _write_row(
    ink: Mask,
    layout: Layout,
    groups: tuple[str, ...],
    gaps: tuple[Gap, ...],
    span: tuple[float, float, float],
) -> None:
    left, top, right = span
    style = layout.lettering
    places = sum(len(group) for group in groups) * style.pitch_mm
    total = places + sum(_gap_width(layout, gap) for gap in gaps)
    squeeze = min(1.0, (right - left) / total)
    x = left + (right - left - total * squeeze) / 2
    for index, group in enumerate(groups):
        for character in group:
            _write_character(ink, layout, character, (x, top, squeeze))
            x += style.pitch_mm * squeeze
        if index < len(gaps):
            _write_gap(ink, layout, gaps[index], (x, top, squeeze))
            x += _gap_width(layout, gaps[index]) * squeeze


def _gap_width(layout: Layout, gap: Gap) -> float:
    return 0.0 if gap is Gap.NOTHING else layout.lettering.gap_mm


def _write_character(
    ink: Mask, layout: Layout, character: str, at: tuple[float, float, float]
) -> None:
    x, top, squeeze = at
    style = layout.lettering
    reference = natural_width(style.face, "H", style.height_mm)
    stretch = style.width_mm * 0.94 / reference
    width = min(
        natural_width(style.face, character, style.height_mm) * stretch, style.pitch_mm * 0.93
    )
    width *= squeeze
    left = x + (style.pitch_mm * squeeze - width) / 2
    scale = PIXELS_PER_MM
    box = (left * scale, top * scale, width * scale, style.height_mm * scale)
    stamp(ink, style.face, character, box)


def _write_gap(ink: Mask, layout: Layout, gap: Gap, at: tuple[float, float, float]) -> None:
    if gap is not Gap.DASH:
        return
    x, top, squeeze = at
    style = layout.lettering
    centre = x + style.gap_mm * squeeze / 2
    length, thickness = min(16.0, style.gap_mm * 0.5), style.height_mm * 0.13
    corners = [
        (centre - length / 2, top + (style.height_mm - thickness) / 2),
        (centre + length / 2, top + (style.height_mm + thickness) / 2),
    ]
    first, last = [tuple(round(v * PIXELS_PER_MM) for v in corner) for corner in corners]
    cv2.rectangle(ink, first, last, 1.0, -1)
