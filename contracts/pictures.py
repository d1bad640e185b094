"""How large a picture may be: what a camera sends, and what recognition takes."""

from typing import Final

MAX_PIXELS: Final = 40_000_000
MAX_SIDE_PX: Final = 10_000
"""Twice the pixels of the largest cameras; decoded, such a picture takes 120 MB."""


def is_too_large(width_px: int, height_px: int) -> bool:
    """Return whether a picture of this size is looked at by nobody."""
    return width_px * height_px > MAX_PIXELS or max(width_px, height_px) > MAX_SIDE_PX
