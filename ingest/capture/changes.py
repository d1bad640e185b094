"""The parts of a frame that differ from what was sent before: where something new may be seen."""

from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from common.records.frames import Box
from ingest.capture.sampling import GreyImage

_THRESHOLD: Final = 8
"""Smallest difference of brightness (0..255) that counts: less than the motion gate asks for, as
what is missed here is looked at late."""

_JOINED_PX: Final = 5
"""Changed pixels that are nearer than this belong together."""

_MIN_AREA_PX: Final = 30
"""A single pixel, grown by what joins it to others, stays below."""

_MARGIN_PX: Final = 4
"""Around what changed: a plate is within it, or beside it where its car is as dark as the road."""

_MAX_PARTS: Final = 8

_Edges = tuple[int, int, int, int]


class ChangedParts:
    """The changes of one camera's frames since each place was last sent."""

    def __init__(self) -> None:
        """Begin with nothing sent."""
        self._sent: GreyImage | None = None

    def reset(self) -> None:
        """Forget what was sent: the next frame is new everywhere."""
        self._sent = None

    def sent(self, image: GreyImage, width_px: int, height_px: int) -> tuple[Box, ...] | None:
        """Note a frame as sent, and return its changed parts, in pixels of a frame of this size.

        None: all of it. Slow changes add up until they are large enough.
        """
        before = self._sent
        if before is None or before.shape != image.shape:
            self._sent = image.copy()
            return None
        parts = _changed(before, image)
        for left, top, right, bottom in parts:
            before[top:bottom, left:right] = image[top:bottom, left:right]
        height, width = image.shape
        return tuple(_box(part, width_px / width, height_px / height) for part in parts)


def _changed(before: GreyImage, now: GreyImage) -> list[_Edges]:
    changed = (cv2.absdiff(before, now) > _THRESHOLD).astype(np.uint8)
    joined = cv2.dilate(changed, np.ones((_JOINED_PX, _JOINED_PX), np.uint8))
    _, _, found, _ = cv2.connectedComponentsWithStats(joined)
    parts = [_grown(one, now.shape) for one in found[1:] if one[cv2.CC_STAT_AREA] >= _MIN_AREA_PX]
    return parts if len(parts) <= _MAX_PARTS else [_around(parts)]


def _grown(found: NDArray[np.int32], shape: tuple[int, ...]) -> _Edges:
    left, top, width, height = (int(side) for side in found[:4])
    return (
        max(0, left - _MARGIN_PX),
        max(0, top - _MARGIN_PX),
        min(shape[1], left + width + _MARGIN_PX),
        min(shape[0], top + height + _MARGIN_PX),
    )


def _around(parts: Sequence[_Edges]) -> _Edges:
    lefts, tops, rights, bottoms = zip(*parts, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _box(part: _Edges, scale_x: float, scale_y: float) -> Box:
    left, top, right, bottom = part
    return Box(
        x=round(left * scale_x, 1),
        y=round(top * scale_y, 1),
        width=round((right - left) * scale_x, 1),
        height=round((bottom - top) * scale_y, 1),
    )
