"""Detects whether the position of a stationary plate is empty in a frame. No I/O.

A frame is represented by its view (:mod:`recognition.scene`). The view with the plate shows what
the position looked like, and the rest of that view shows how the scene was lit. A position is empty
if the rest of the scene looks the same but the position does not. In the dark, with an obstacle in
front of the lens, or in different light, nothing can be concluded.
"""

from enum import Enum, auto

import msgspec
import numpy as np
import numpy.typing as npt

from common.records.frames import Box, FrameKind
from common.records.recognitions import FrameReadings
from recognition.scene import COLUMNS, ROWS
from streams.recognition.geometry import overlap
from streams.recognition.tracking.passes import TrackingRules
from streams.recognition.tracking.suppression import SuppressedPlate

# Margins around a plate that cover its vehicle, in plate widths.
_ASIDE, _ABOVE, _BELOW = 1.75, 2.0, 0.5

# Brightness thresholds (0..255) for the rest of the scene.
_DARK = 20.0
_FLAT = 6.0
_SAME_FLAT = 10.0
_CORRELATION = 0.85
_CONTRAST_SHARE = 0.4

# Thresholds for the position, after compensating for the light.
_CHANGED = 10.0
_CHANGED_TIMES_REST = 3.5
_DETAIL_LOST = 0.5
_DETAIL = 2.0

_GAP_MS = 10_000
"""If two observations are further apart than this, it is unknown what happened in between."""

_NOTED_MS = 5_000
"""Interval at which continuing evidence is recorded, because recording it writes the state."""

_Cells = npt.NDArray[np.float64]


class PlaceView(Enum):
    """What a frame shows at the position of a plate."""

    EMPTY = auto()
    OTHER = auto()
    """The frame shows the plate or something similar, or the position is hidden."""
    UNKNOWN = auto()
    """Nothing can be concluded from the frame."""


def update_stationary(
    suppressed: tuple[SuppressedPlate, ...], frame: FrameReadings, rules: TrackingRules
) -> tuple[SuppressedPlate, ...]:
    """Return the plates after a frame or a tick, or the same object if nothing changed.

    A plate has left once its position has been seen empty for ``rules.suppress_ms``.
    """
    after = tuple(_updated(plate, frame, rules) for plate in suppressed)
    same = all(new is old for new, old in zip(after, suppressed, strict=True))
    return suppressed if same else after


def _updated(plate: SuppressedPlate, frame: FrameReadings, rules: TrackingRules) -> SuppressedPlate:
    if not plate.still or not plate.view:
        return plate
    view = _view_of(plate, frame)
    if view is PlaceView.UNKNOWN:
        return plate
    now_ms, since_ms, until_ms = frame.captured_ms, plate.empty_since_ms, plate.empty_until_ms
    if view is PlaceView.OTHER:
        return plate if since_ms is None else plate.with_empty(None, None)
    if since_ms is None or until_ms is None or now_ms - until_ms > _GAP_MS:
        return plate.with_empty(now_ms, now_ms)
    if now_ms - since_ms >= rules.suppress_ms:
        return msgspec.structs.replace(plate.with_empty(None, None), still=False, view=b"")
    return plate.with_empty(since_ms, now_ms) if now_ms - until_ms >= _NOTED_MS else plate


def _view_of(plate: SuppressedPlate, frame: FrameReadings) -> PlaceView:
    if frame.kind is FrameKind.TICK:
        # Nothing moves, so the scene is the same as in the last frame.
        was_empty = frame.still and plate.empty_since_ms is not None
        return PlaceView.EMPTY if was_empty else PlaceView.UNKNOWN
    if frame.kind is not FrameKind.FRAME or not frame.view:
        return PlaceView.UNKNOWN
    seen = [one.box for one in frame.readings] + [one.box for one in frame.followed]
    if any(overlap(plate.box, box) for box in seen):
        return PlaceView.OTHER
    size = (frame.width_px, frame.height_px)
    return PlaceView.EMPTY if is_empty(plate.view, frame.view, plate.box, size) else PlaceView.OTHER


def is_empty(with_plate: bytes, now: bytes, box: Box, size: tuple[int, int]) -> bool:
    """Return whether a view shows that the vehicle of a plate has left.

    ``with_plate`` is a view with the plate in ``box``. ``size`` is the size of both frames (width,
    height in px).
    """
    (lit, fine), (lit_now, fine_now) = _cells(with_plate), _cells(now)
    inside = _mask(box, size)
    scene = ~inside
    if not inside.any() or scene.sum() < inside.sum():
        return False
    if not _is_comparable(lit[scene], lit_now[scene]):
        return False
    gain, shift = _light(lit[scene], lit_now[scene])
    differs = np.abs(lit_now - (gain * lit + shift))
    is_other = differs[inside].mean() >= max(_CHANGED, _CHANGED_TIMES_REST * differs[scene].mean())
    # Fog or a lens that is out of focus reduces the detail everywhere.
    detail = fine[inside].mean() * fine_now[scene].mean() / max(fine[scene].mean(), _DETAIL)
    is_plain = detail >= _DETAIL and fine_now[inside].mean() < _DETAIL_LOST * detail
    return bool(is_other or is_plain)


def _cells(view: bytes) -> tuple[_Cells, _Cells]:
    brightness, detail = np.frombuffer(view, np.uint8).reshape(2, ROWS, COLUMNS).astype(np.float64)
    return brightness, detail


def _mask(box: Box, size: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Return a mask of the cells whose centre the vehicle around a plate covers.

    The mask has the shape (rows, columns). It always includes the cell of the plate's centre.
    """
    width, height = max(size[0], 1), max(size[1], 1)
    x = (np.arange(COLUMNS) + 0.5) * width / COLUMNS
    y = (np.arange(ROWS) + 0.5) * height / ROWS
    left, right = box.x - _ASIDE * box.width, box.x + (1 + _ASIDE) * box.width
    top, bottom = box.y - _ABOVE * box.width, box.y + box.height + _BELOW * box.width
    cells = np.outer((y >= top) & (y <= bottom), (x >= left) & (x <= right))
    column = min(int((box.x + box.width / 2) * COLUMNS / width), COLUMNS - 1)
    row = min(int((box.y + box.height / 2) * ROWS / height), ROWS - 1)
    cells[max(row, 0), max(column, 0)] = True
    return cells


def _is_comparable(before: _Cells, now: _Cells) -> bool:
    """Return whether both views show the same scene with enough light."""
    if now.mean() < _DARK:
        return False
    if before.std() < _FLAT or now.std() < _FLAT:
        both_flat = before.std() < _FLAT and now.std() < _FLAT
        return bool(both_flat and abs(now.mean() - before.mean()) <= _SAME_FLAT)
    if now.std() < _CONTRAST_SHARE * before.std():
        return False
    return bool(np.corrcoef(before, now)[0, 1] >= _CORRELATION)


def _light(before: _Cells, now: _Cells) -> tuple[float, float]:
    """Return the gain and the shift of the light, based on the rest of the scene."""
    if before.std() < _FLAT:
        return 1.0, float(now.mean() - before.mean())
    gain = float(np.cov(before, now, bias=True)[0, 1] / before.var())
    return gain, float(now.mean() - gain * before.mean())
