"""Renders plates as training samples, including characters and layouts that the photos lack."""

import cv2
import numpy as np

from tools.synthetic.layouts import Band, Gap, Layout
from tools.synthetic.plates import Plate, random_plate
from tools.synthetic.wear import cloud
from tools.training.dressing import dressed
from tools.training.layouts import Country, random_layout
from tools.training.photos import Image, as_image
from tools.training.reader_data import CONTEXT, Sample

PLATE_WIDTH_PX = (70, 260)

TINTED_SHARE = 0.4
"""Fraction of plates with an uneven background, as on US plates with background images."""


def render_samples(
    count: int, slots: int, seed: int, country: Country | None = None
) -> list[Sample]:
    """Return up to ``count`` plates with up to ``slots`` characters, by default of any country."""
    rng = np.random.default_rng(seed)
    plates = (random_plate(rng, random_layout(rng, country)) for _ in range(count))
    return [mounted(plate, rng) for plate in plates if len(plate.text) <= slots]


def mounted(plate: Plate, rng: np.random.Generator) -> Sample:
    """Return a rendered plate, 70 to 260 px wide, on plain bodywork."""
    width = int(rng.uniform(*PLATE_WIDTH_PX))
    height = round(width * plate.image.shape[0] / plate.image.shape[1])
    size = (width, height)
    front = as_image(plate.image[..., ::-1])
    if plate.layout.band is Band.STATE:
        front = dressed(front, _gap(plate.layout), rng, _room(plate.layout))
    front = as_image(cv2.resize(front, size, interpolation=cv2.INTER_AREA))
    if rng.random() < TINTED_SHARE:
        front = _tinted(front, rng)
    alpha = cv2.resize(plate.alpha, size, interpolation=cv2.INTER_AREA)[..., None]
    left, top = round(width * CONTEXT), round(height * CONTEXT)
    image = _bodywork(width + 2 * left, height + 2 * top, rng)
    part = image[top : top + height, left : left + width]
    part[:] = (part * (1 - alpha) + front * alpha).astype(np.uint8)
    box = (float(left), float(top), float(left + width), float(top + height))
    return Sample(image, box, plate.text, "rendered")


def _gap(layout: Layout) -> float | None:
    """Return the position of a one-row plate's first gap, as a fraction of the width, or None."""
    if len(layout.rows) != 1 or not layout.gaps[0] or layout.gaps[0][0] is not Gap.SPACE:
        return None
    style = layout.lettering
    middle = len(layout.rows[0][0]) * style.pitch_mm + style.gap_mm / 2
    return 0.5 + (middle - _number_mm(layout) / 2) / layout.width_mm


def _room(layout: Layout) -> float:
    """Return the free fraction of the plate's width on each side of a one-row number."""
    if len(layout.rows) != 1:
        return 0.0
    return max(0.0, (1 - _number_mm(layout) / layout.width_mm) / 2)


def _number_mm(layout: Layout) -> float:
    style = layout.lettering
    gaps = [gap for gap in layout.gaps[0] if gap is not Gap.NOTHING]
    return sum(map(len, layout.rows[0])) * style.pitch_mm + style.gap_mm * len(gaps)


def _tinted(front: Image, rng: np.random.Generator) -> Image:
    patches = cloud(front.shape[:2], rng, coarse=3, octaves=3)[..., None]
    tint = rng.uniform(-90, 60, 3) * rng.uniform(0.2, 1.0)
    return np.asarray(np.clip(front + patches * tint, 0, 255), dtype=np.uint8)


def _bodywork(width: int, height: int, rng: np.random.Generator) -> Image:
    """Return an image of a plain but uneven surface of a random colour."""
    colour = rng.uniform(0, 255) + rng.normal(0, 45, 3)
    coarse = colour + rng.normal(0, 30, (3, 3, 1))
    few = np.clip(coarse, 0, 255).astype(np.uint8)
    return as_image(cv2.resize(few, (width, height), interpolation=cv2.INTER_CUBIC))
