"""Searches for small or uncertain plates again, in a window at a larger scale.

Images are shrunk to the detector's input, so distant plates are detected late and with inaccurate
boxes. A window takes a quarter of the time of the first pass. In collages of nine photos, 692 of
750 plates were detected with windows (more than now), and 659 without (tools/training/HISTORY.md).
"""

from dataclasses import replace

import numpy as np

from recognition.analysis_hints import NOTHING_KNOWN, AnalysisHints
from recognition.detection.detector import Detector, suppress_overlapping
from recognition.detection.known_plates import split_known
from recognition.types import BgrImage, Detection, iou

COARSE_SCORE_THRESHOLD = 0.08
"""Minimum score of a candidate that gets a window. If the window does not confirm the candidate,
the candidate's first score must reach the detector's threshold."""

_PLATE_WIDTH_PX = 80.0
"""Desired width of a plate in its window."""

_MAX_SCALE = 1.5
_MIN_GAIN = 1.25
_WIDTHS_PX = (12.0, 32.0)
"""Widths of candidates that get a window, in pixels of the first input. On 34 photos of approaching
plates, 10 of the 67 windows with a right reading were outside these limits or the score's."""

_CLEAR_WIDTH_PX, _CLEAR_SCORE = 20.0, 0.6
"""Wider candidates with a higher score get no window."""

_SAME_PLATE_IOU = 0.2
_MAX_WINDOWS = 20


def search_with_windows(
    detector: Detector, image: BgrImage, hints: AnalysisHints = NOTHING_KNOWN
) -> list[Detection]:
    """Return the plates in an image, best first, in pixels of the image.

    ``detector`` has a small canvas for windows. Plates at known positions get no window, because
    they are not read.
    """
    scale = detector.scale(image)
    candidates = detector.search(image, min(COARSE_SCORE_THRESHOLD, detector.threshold))
    unknown, _ = split_known(candidates, hints)
    unclear = [one for one in unknown if _zoom_scale(one, scale) is not None]
    zoomed = unclear[:_MAX_WINDOWS]
    fine = [_zoom_in(detector, image, c, scale) if c in zoomed else c for c in candidates]
    return suppress_overlapping(
        [found for found in fine if found.score >= detector.threshold], detector.iou_threshold
    )


def _zoom_in(detector: Detector, image: BgrImage, candidate: Detection, scale: float) -> Detection:
    zoom = _zoom_scale(candidate, scale) or scale
    middles = (candidate.left + candidate.right) / 2, (candidate.top + candidate.bottom) / 2
    canvas = detector.smallest_canvas
    left, top, right, bottom = _window(middles, image, canvas, zoom)
    closer = detector.search(image[top:bottom, left:right], detector.threshold, canvas=canvas)
    moved = [_moved(found, left, top) for found in closer]
    same = [f for f in moved if iou(f.box, candidate.box) >= _SAME_PLATE_IOU]
    return max(same, key=lambda found: found.score, default=candidate)


def _zoom_scale(found: Detection, scale: float) -> float | None:
    """Return the scale of a candidate's window, or None if a window would not help."""
    zoom = min(_PLATE_WIDTH_PX / found.width_px, _MAX_SCALE)
    width = found.width_px * scale
    is_clear = width > _CLEAR_WIDTH_PX and found.score >= _CLEAR_SCORE
    may_be_plate = found.score >= COARSE_SCORE_THRESHOLD
    has_use = may_be_plate and not is_clear and _WIDTHS_PX[0] <= width < _WIDTHS_PX[1]
    return zoom if has_use and zoom >= _MIN_GAIN * scale else None


def _window(
    middles: tuple[float, float], image: BgrImage, input_px: tuple[int, int], zoom: float
) -> tuple[int, int, int, int]:
    """Return the left, top, right and bottom of the window around a point, inside the image."""
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
