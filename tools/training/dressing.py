"""Decorates rendered plates with backgrounds, stickers, frames and symbols.

US plates have images behind the number, year stickers in the corners and dealer frames, more often
than the plates of other countries. A reader trained only on plain rendered plates mistakes such
decorations for letters.
"""

import cv2
import numpy as np

from tools.synthetic.wear import cloud
from tools.training.photos import Image, as_image

FADED_SHARE, PICTURE_SHARE, MARK_SHARE, STICKER_SHARE, FRAME_SHARE = 0.5, 0.45, 0.45, 0.55, 0.4
STACKED_SHARE = 0.35
"""Fractions of plates with each decoration (stacked letters: of plates with enough space)."""

STACKED_ROOM = 0.13
"""Free space next to the number that stacked letters need, as a fraction of the plate's width."""

_CORNERS = ((0.09, 0.14), (0.91, 0.14), (0.09, 0.86), (0.91, 0.86))
_MONTHS = ("JAN", "MAR", "APR", "MAY", "JUN", "AUG", "OCT", "NOV", "08", "25", "99", "17")
_FRAME_TEXTS = ("TOYOTA", "FORD", "MOTORS", "HONDA.COM", "ALUMNI", "AUTO SALES", "VOLVO", "")
_STACKED = "ABCDEFGHKLMNPRSTUVWXYZ"
_FONT = cv2.FONT_HERSHEY_DUPLEX


def dressed(front: Image, gap: float | None, rng: np.random.Generator, room: float = 0.0) -> Image:
    """Return the front of a plate (RGB) with random decorations, as on US plates.

    ``gap`` is the position of a gap in the number for a symbol, as a fraction of the width, or None
    if there is no gap. ``room`` is the free fraction of the width on each side.
    """
    front = front.copy()
    if rng.random() < FADED_SHARE:
        front = _faded(front, rng)
    if rng.random() < PICTURE_SHARE:
        front = _pictured(front, rng)
    if gap is not None and rng.random() < MARK_SHARE:
        _mark(front, gap, rng)
    if room > STACKED_ROOM and rng.random() < STACKED_SHARE:
        _stacked(front, room, rng)
    if rng.random() < STICKER_SHARE:
        for corner in rng.permutation(4)[: int(rng.integers(1, 3))]:
            _sticker(front, _CORNERS[corner], rng)
    if rng.random() < FRAME_SHARE:
        _frame(front, rng)
    return front


def _faded(front: Image, rng: np.random.Generator) -> Image:
    """Return the plate with a colour gradient from the upper edge, the lower edge or both."""
    height = front.shape[0]
    across = np.linspace(0, 1, height, dtype=np.float32)
    reach = rng.uniform(0.15, 0.6)
    top = np.clip(1 - across / reach, 0, 1) if rng.random() < 0.7 else np.zeros(height)
    low = np.clip(1 - (1 - across) / reach, 0, 1) if rng.random() < 0.5 else np.zeros(height)
    share = np.maximum(top, low)[:, None, None] * rng.uniform(0.3, 1.0)
    colour = rng.uniform(40, 255, 3)
    return as_image(front * (1 - share) + front * (colour / 255) * share)


def _pictured(front: Image, rng: np.random.Generator) -> Image:
    """Return the plate with pale hills, clouds or stripes behind the number."""
    height, width = front.shape[:2]
    shapes = cloud((height, width), rng, coarse=int(rng.integers(2, 6)), octaves=3)
    share = (shapes > rng.uniform(0.4, 0.7)).astype(np.float32)
    share = cv2.GaussianBlur(share, (0, 0), width / 120)[..., None] * rng.uniform(0.15, 0.6)
    colour = rng.uniform(30, 255, 3)
    return as_image(front * (1 - share) + front * (colour / 255) * share)


def _mark(front: Image, gap: float, rng: np.random.Generator) -> None:
    """Draw a star, a fruit or a state's outline in the gap in the number."""
    height, width = front.shape[:2]
    size = height * rng.uniform(0.06, 0.26)
    turn = rng.uniform(0, 2 * np.pi)
    angles = turn + np.linspace(0, 2 * np.pi, int(rng.integers(5, 11)), endpoint=False)
    reach = size * rng.uniform(0.4, 1.0, len(angles))
    points = np.stack([np.cos(angles) * reach * 0.8, np.sin(angles) * reach], axis=1)
    points += (gap * width, height * rng.uniform(0.45, 0.62))
    cv2.fillPoly(front, [points.astype(np.int32)], rng.uniform(20, 220, 3).tolist(), cv2.LINE_AA)


def _stacked(front: Image, room: float, rng: np.random.Generator) -> None:
    """Draw two small stacked letters, which are not part of the number, next to the number."""
    height, width = front.shape[:2]
    middle = room / 2 if rng.random() < 0.6 else 1 - room / 2
    ink = rng.uniform(10, 140, 3).tolist()
    scale = min(height * rng.uniform(0.16, 0.22), width * room * 0.6) / 21
    thick = max(1, round(scale * 3))
    for letter, base in zip(rng.choice(list(_STACKED), 2), (0.48, 0.76), strict=True):
        (wide, _), _ = cv2.getTextSize(str(letter), _FONT, scale, thick)
        at = (round(middle * width - wide / 2), round(base * height))
        cv2.putText(front, str(letter), at, _FONT, scale, ink, thick, cv2.LINE_AA)


def _sticker(front: Image, at: tuple[float, float], rng: np.random.Generator) -> None:
    height, width = front.shape[:2]
    half = (width * rng.uniform(0.04, 0.075), height * rng.uniform(0.06, 0.11))
    x, y = at[0] * width, at[1] * height
    low = (round(x - half[0]), round(y - half[1]))
    high = (round(x + half[0]), round(y + half[1]))
    colour = rng.uniform(20, 255, 3)
    cv2.rectangle(front, low, high, colour.tolist(), -1)
    ink = (15.0, 15.0, 15.0) if colour.mean() > 120 else (240.0, 240.0, 240.0)
    text = _MONTHS[int(rng.integers(len(_MONTHS)))]
    scale = half[1] / 22
    cv2.putText(front, text, (low[0] + 2, high[1] - 3), _FONT, scale, ink, 1, cv2.LINE_AA)


def _frame(front: Image, rng: np.random.Generator) -> None:
    """Draw a dealer's frame: four bars, with a name on the upper and the lower bar."""
    height, width = front.shape[:2]
    metal = rng.uniform(150, 230) if rng.random() < 0.4 else rng.uniform(5, 50)
    colour = (metal + rng.normal(0, 6, 3)).clip(0, 255).tolist()
    ink = [255 - metal] * 3
    top, low = (round(height * rng.uniform(0.03, 0.16)) for _ in range(2))
    side = max(1, round(width * rng.uniform(0.01, 0.035)))
    for corner, other in (
        ((0, 0), (width, top)),
        ((0, height - low), (width, height)),
        ((0, 0), (side, height)),
        ((width - side, 0), (width, height)),
    ):
        cv2.rectangle(front, corner, other, colour, -1)
    for bar, base in ((top, top), (low, height)):
        text = _FRAME_TEXTS[int(rng.integers(len(_FRAME_TEXTS)))]
        left = round(width * rng.uniform(0.15, 0.4))
        at = (left, base - round(bar * 0.2))
        cv2.putText(front, text, at, _FONT, bar / 36, ink, 1, cv2.LINE_AA)
