"""Renders a licence plate: image, text and layout."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.decoration import draw_decoration, writing_area
from tools.synthetic.layouts import LAYOUTS, Band, Gap, Group, Layout
from tools.synthetic.lettering import PIXELS_PER_MM, Mask, natural_width, stamp
from tools.synthetic.wear import emboss, weather

Picture = NDArray[np.uint8]
"""An image as height x width x 3 values from 0 to 255, in BGR order."""

Number = tuple[tuple[str, ...], ...]
"""A plate's number as the characters of each group in each row."""

# These texts are not allowed on German or British plates, so no plate contains them.
_NEVER = ("SS", "KKK", "NSU", "IS", "HH88", "FCK")


@dataclass(frozen=True)
class Plate:
    """A rendered plate.

    `image` is the plate seen from straight ahead, uint8 BGR. `alpha` is the plate's rounded
    outline, float32 0 to 1, of the same size. `text` is the ground truth, A-Z0-9.
    """

    layout: Layout
    text: str
    image: Picture
    alpha: Mask


def random_plate(rng: np.random.Generator, layout: Layout | None = None) -> Plate:
    """Return a plate with a random number and wear, in the given layout or a random layout."""
    chosen = layout or LAYOUTS[int(rng.integers(len(LAYOUTS)))]
    while True:
        number = tuple(tuple(_fill(group, rng) for group in row) for row in chosen.rows)
        if not any(word in _text(number) for word in _NEVER):
            return _drawn(chosen, number, rng)


def plate_with_text(layout: Layout, text: str, rng: np.random.Generator) -> Plate:
    """Return a rendered plate with a given normalised text.

    Raises ValueError if the text does not match the layout.
    """
    if not layout.matches(text):
        raise ValueError(f"{text!r} does not match layout {layout.code}")
    rest = iter(text)
    number = tuple(
        tuple("".join(next(rest) for _ in group) for group in row) for row in layout.rows
    )
    return _drawn(layout, number, rng)


def _fill(group: Group, rng: np.random.Generator) -> str:
    return "".join(slot[int(rng.integers(len(slot)))] for slot in group)


def _text(number: Number) -> str:
    return "".join("".join(row) for row in number)


def _drawn(layout: Layout, number: Number, rng: np.random.Generator) -> Plate:
    width, height = (round(side * PIXELS_PER_MM) for side in (layout.width_mm, layout.height_mm))
    canvas = np.empty((height, width, 3), dtype=np.float32)
    canvas[:] = layout.background
    draw_decoration(canvas, layout)
    relief = _written(layout, number, (height, width))
    if layout.border:
        border = _framed((height, width), 3.0, 8) - _framed((height, width), 5.5, 6)
        relief = np.maximum(relief, np.maximum(border, 0))
    canvas += relief[..., None] * (np.array(layout.ink, dtype=np.float32) - canvas)
    if layout.lettering.embossed:
        emboss(canvas, relief, PIXELS_PER_MM)
    # The decoration of US plates already includes bolts.
    weather(canvas, rng, screws=layout.band is not Band.STATE)
    image = np.clip(canvas, 0, 255).astype(np.uint8)
    return Plate(layout, _text(number), image, _framed((height, width), 0, 10))


def _framed(shape: tuple[int, int], inset_mm: float, radius_mm: float) -> Mask:
    """Return a mask of a rectangle with rounded corners, from 0 (outside) to 1 (inside)."""
    mask = np.zeros(shape, dtype=np.uint8)
    left = top = round(inset_mm * PIXELS_PER_MM)
    right, bottom = shape[1] - left - 1, shape[0] - top - 1
    r = round(radius_mm * PIXELS_PER_MM)
    cv2.rectangle(mask, (left + r, top), (right - r, bottom), 255, -1)
    cv2.rectangle(mask, (left, top + r), (right, bottom - r), 255, -1)
    for x in (left + r, right - r):
        for y in (top + r, bottom - r):
            cv2.circle(mask, (x, y), r, 255, -1, cv2.LINE_AA)
    return np.divide(mask, 255, dtype=np.float32)


def _written(layout: Layout, number: Number, shape: tuple[int, int]) -> Mask:
    ink = np.zeros(shape, dtype=np.float32)
    left, top, right, bottom = writing_area(layout)
    letter_height = layout.lettering.height_mm
    spare = (bottom - top - letter_height * len(number)) / (len(number) + 1)
    for index, (groups, gaps) in enumerate(zip(number, layout.gaps, strict=True)):
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
