"""Coarse to fine: a small or unsure plate is searched again in a window at the image's own size.

An image is shrunk to the detector's input, and a far plate with it, which is then detected late and
boxed badly. A window costs a quarter of the first pass; in collages of nine photos 692 of 750
plates are detected with it and 659 without (tools/training/HISTORY.md).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from common.records.frames import Box as Part
from recognition.detection.detector import Detector, suppress_overlapping
from recognition.detection.known_places import is_part_of_known, is_same, take_known
from recognition.look import NOTHING_KNOWN, Look
from recognition.types import BgrImage, Detection, iou

COARSE_SCORE_THRESHOLD = 0.1
"""Of the first pass's candidates, or the detector's threshold where that is lower. One that its
window does not confirm keeps its own score, and is dropped where the threshold is higher."""

_WINDOW_INPUT_PX = (256, 160)
"""Width and height of a window as the detector gets it; grown to multiples of its stride."""

CANVASES_PX = ((256, 160), (384, 320), (768, 320), (576, 448))
"""Inputs for parts of an image, the cheapest first: few, as runtimes prepare for each size."""

_GRID_PX = 8
"""Of the input: the finest step of the network. A part that begins on it looks as in the whole, if
so many pixels of the input are a whole number of the image's (at 0.4, not at 0.6)."""

_PLATE_WIDTH_PX = 80.0
"""The width that a plate should have in its window."""

_MAX_SCALE = 1.5
_MIN_GAIN = 1.25
_CLEAR = ((32.0, 0.4), (20.0, 0.6))
"""Widths in the first input, in pixels, with scores: a candidate above one pair gets no window."""

_SAME_PLATE_IOU = 0.2
_MAX_WINDOWS = 20

_MAX_CUT = 4

_EDGE_PX, _EDGE_WIDTHS = 8, 0.15
"""Of the input, and of a plate's own width: a plate as near as this to an edge may be cut by it, as
that is how exactly its box is known."""


class ZoomDetector:
    """Detects plates in two passes. Not for two threads at a time."""

    def __init__(self, detector: Detector) -> None:
        """Use a detector that takes images of any size."""
        self._detector = detector
        self._input_px = _grown_px(_WINDOW_INPUT_PX, detector.stride)
        self._canvases_px = [_grown_px(canvas, detector.stride) for canvas in CANVASES_PX]

    def detect_all(
        self, images: list[BgrImage], looks: Sequence[Look] | None = None
    ) -> list[list[Detection]]:
        """Return the plates in each image, one by one: a processor gains nothing from batches."""
        return list(map(self.detect, images, looks or [NOTHING_KNOWN] * len(images)))

    def detect(self, image: BgrImage, look: Look = NOTHING_KNOWN) -> list[Detection]:
        """Return the plates in the image, best first, in pixels of the image.

        Those in known places are not searched again: nothing is to be read there.
        """
        threshold = self._detector.threshold
        scale = self._detector.scale(image)
        candidates = self._search(image, look, scale, min(COARSE_SCORE_THRESHOLD, threshold))
        unknown, _ = take_known(candidates, look)
        unclear = [one for one in unknown if _zoom_scale(one, scale) is not None]
        zoomed = unclear[:_MAX_WINDOWS]
        fine = [self._zoom_in(image, c, scale) if c in zoomed else c for c in candidates]
        return suppress_overlapping(
            [found for found in fine if found.score >= threshold], self._detector.iou_threshold
        )

    def _search(
        self, image: BgrImage, look: Look, scale: float, threshold: float
    ) -> list[Detection]:
        """Return what is found in the part of a look, at the scale of all of the image.

        A plate that the edge of the part may cut is searched again in a window of its own: a piece
        of a plate is read as surely as all of it. Of one in a known place nothing is to be read.
        """
        canvas = None if look.part is None else self._canvas_px(look.part, image, scale)
        if look.part is None or canvas is None:
            return self._detector.search(image, threshold)
        middles = (look.part.x + look.part.width / 2, look.part.y + look.part.height / 2)
        whole, cut = self._search_window(image, middles, canvas, scale, threshold)
        again = [one for one in cut if not is_part_of_known(one, look)][:_MAX_CUT]
        return [*whole, *(it for one in again if (it := self._whole(image, one, scale, threshold)))]

    def _whole(
        self, image: BgrImage, cut: Detection, scale: float, threshold: float
    ) -> Detection | None:
        """Return all of a plate of which a piece was found; None: it is none, or too large."""
        middles = ((cut.left + cut.right) / 2, (cut.top + cut.bottom) / 2)
        whole, _ = self._search_window(image, middles, self._input_px, scale, threshold)
        same = [found for found in whole if is_same(found, cut)]
        return max(same, key=lambda found: found.score, default=None)

    def _search_window(
        self,
        image: BgrImage,
        middles: tuple[float, float],
        input_px: tuple[int, int],
        scale: float,
        threshold: float,
    ) -> tuple[list[Detection], list[Detection]]:
        """Return what is found in a window of the image, and of it what its edges may cut."""
        window = _on_grid(_window(middles, image, input_px, scale), image, scale)
        left, top, right, bottom = window
        found = self._detector.search(image[top:bottom, left:right], threshold, input_px=input_px)
        moved = [_moved(one, left, top) for one in found]
        cut = [one for one in moved if _may_be_cut(one, window, image, scale)]
        return [one for one in moved if one not in cut], cut

    def _canvas_px(self, part: Part, image: BgrImage, scale: float) -> tuple[int, int] | None:
        """Return the input that a part fits into, None where all of the image costs no more.

        A part is left room for the window's way onto the grid, half a step at most either way.
        """
        height, width = image.shape[:2]
        for canvas in self._canvases_px:
            if canvas[0] * canvas[1] >= width * height * scale**2:
                return None
            room = (canvas[0] - 2 * _GRID_PX, canvas[1] - 2 * _GRID_PX)
            if part.width * scale <= room[0] and part.height * scale <= room[1]:
                return canvas
        return None

    def _zoom_in(self, image: BgrImage, candidate: Detection, scale: float) -> Detection:
        zoom = _zoom_scale(candidate, scale) or scale
        middles = (
            (candidate.left + candidate.right) / 2,
            (candidate.top + candidate.bottom) / 2,
        )
        left, top, right, bottom = _window(middles, image, self._input_px, zoom)
        part = image[top:bottom, left:right]
        closer = self._detector.search(part, self._detector.threshold, input_px=self._input_px)
        moved = [_moved(found, left, top) for found in closer]
        same = [f for f in moved if iou(f.box, candidate.box) >= _SAME_PLATE_IOU]
        return max(same, key=lambda found: found.score, default=candidate)


def _zoom_scale(found: Detection, scale: float) -> float | None:
    """Return the scale of a candidate's window, None where it would show nothing new."""
    zoom = min(_PLATE_WIDTH_PX / found.width_px, _MAX_SCALE)
    width = found.width_px * scale
    is_clear = any(width > px and found.score >= score for px, score in _CLEAR)
    return None if is_clear or zoom < _MIN_GAIN * scale else zoom


def _grown_px(size: tuple[int, int], stride: int) -> tuple[int, int]:
    """Return a size whose sides are multiples of a stride."""
    width, height = (-(-side // stride) * stride for side in size)
    return width, height


def _on_grid(
    window: tuple[int, int, int, int], image: BgrImage, scale: float
) -> tuple[int, int, int, int]:
    """Return a window moved to where its pixels are as in all of the image, shrunk, or nearly so.

    One that reaches an edge of the image stays there: what the image itself cuts is not cut by it.
    """
    height, width = image.shape[:2]
    left, top, right, bottom = window
    by_x, by_y = _to_grid(left, width - right, scale), _to_grid(top, height - bottom, scale)
    return left + by_x, top + by_y, right + by_x, bottom + by_y


def _to_grid(before: int, behind: int, scale: float) -> int:
    """Return the way to the grid's nearest line, with so much of the image beside a window."""
    if not behind:
        return 0
    step = max(1, round(_GRID_PX / scale))
    return min(round(before / step) * step - before, behind)


def _may_be_cut(
    found: Detection, window: tuple[int, int, int, int], image: BgrImage, scale: float
) -> bool:
    """Return whether an edge of a window that is not the image's may have cut a plate in it."""
    height, width = image.shape[:2]
    left, top, right, bottom = window
    room = max(_EDGE_PX / scale, _EDGE_WIDTHS * found.width_px)
    return (
        (left > 0 and found.left - left < room)
        or (top > 0 and found.top - top < room)
        or (right < width and right - found.right < room)
        or (bottom < height and bottom - found.bottom < room)
    )


def _window(
    middles: tuple[float, float], image: BgrImage, input_px: tuple[int, int], zoom: float
) -> tuple[int, int, int, int]:
    """Return left, top, right, bottom of the window around a point, inside the image."""
    height, width = image.shape[:2]
    spans = []
    for middle, side, input_side in zip(middles, (width, height), input_px, strict=True):
        length = min(side, round(input_side / zoom))
        start = int(np.clip(middle - length / 2, 0, side - length))
        spans.append((start, start + length))
    (left, right), (top, bottom) = spans
    return left, top, right, bottom


def _moved(found: Detection, x: int, y: int) -> Detection:
    return replace(
        found,
        left=found.left + x,
        right=found.right + x,
        top=found.top + y,
        bottom=found.bottom + y,
    )
