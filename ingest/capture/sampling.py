"""The choice of frames to send: evenly sampled, and only while something moves."""

import math
from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from common.records.frames import Zone, ZoneKind
from ingest.capture.messages import MotionRules

_EARLY_SHARE = 0.02
"""A frame this share of the interval before its time is taken: clocks of cameras jitter."""


class Sampler:
    """Selects evenly spaced frames, by the stream's own time.

    The grid stays where it was when a frame comes late, so that 25 frames a second sampled at 5
    give every fifth frame, and uneven streams the right number.
    """

    def __init__(self) -> None:
        """Start with nothing taken: the first frame is."""
        self._due_seconds: float | None = None

    def takes(self, stream_seconds: float, frames_per_second: float) -> bool:
        """Return whether the frame at this time of its stream is one to look at."""
        interval = 1 / frames_per_second
        due = self._due_seconds
        # A stream that jumped, back or far ahead, starts a new grid.
        if due is None or abs(stream_seconds - due) > 2 * interval:
            due = stream_seconds
        if stream_seconds < due - _EARLY_SHARE * interval:
            self._due_seconds = due
            return False
        self._due_seconds = due + interval
        return True


GreyImage = NDArray[np.uint8]
"""Brightness, shape (height, width), 100 px high and up to 1,000 px wide."""

_MEMORY_SECONDS: Final = 10.0
"""Time constant of the background. A car that creeps at 5 cm/s still changes hundreds of these
small pixels within it; one that stands is background after about 20 s."""

_THRESHOLD: Final = 12
"""Smallest difference of brightness (0..255) that counts. Noise at night, averaged over the
pixels that make one small pixel, stays below a quarter of it."""

_CHANGED_SHARE: Final = 0.0015
"""Minimum share of changed pixels: a tenth of a small car in a wide view, but more than the seconds
of a clock that the camera draws into the image."""


_ZONE_MARGIN_PX: Final = 8
"""Beyond an include zone, and into an exclude zone: the streams of a camera may be shifted a
little, and a plate whose middle is in a zone is seen by what moves around it."""


class WatchedArea:
    """Where movement counts: in zones, given in fractions of whatever picture."""

    def __init__(self, zones: Sequence[Zone] = ()) -> None:
        """Everywhere, without zones."""
        self._zones = tuple(zones)
        self._mask: NDArray[np.bool_] | None = None

    def only(self, changed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the changed pixels, shape (height, width), that count."""
        if not self._zones:
            return changed
        if self._mask is None or self._mask.shape != changed.shape:
            self._mask = _zone_mask(self._zones, changed.shape)
        return changed & self._mask


def _zone_mask(zones: Sequence[Zone], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    included, excluded = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    for zone in zones:
        corners = [(point.x * shape[1], point.y * shape[0]) for point in zone.points]
        polygon = np.round(np.array(corners)).astype(np.int32)
        cv2.fillPoly(included if zone.kind is ZoneKind.INCLUDE else excluded, [polygon], 1)
    if not any(zone.kind is ZoneKind.INCLUDE for zone in zones):
        included[:] = 1
    margin = np.ones((2 * _ZONE_MARGIN_PX + 1, 2 * _ZONE_MARGIN_PX + 1), np.uint8)
    # What lies beyond the picture's edge counts as the zone that ends there.
    inner = cv2.erode(excluded, margin, borderType=cv2.BORDER_REPLICATE)
    return np.asarray((cv2.dilate(included, margin) > 0) & (inner == 0))


class MotionGate:
    """Open while something moves and for a while after; state of one camera.

    Compares each image with a running average of those before. Slow movement is seen because
    the average remembers longer than any frame-to-frame difference would. A car that stops keeps
    the gate open until it has become background, then it sends nothing until it moves again: its
    pass was seen when it came. First frames always pass.

    **Source:** the construction (difference to a running average on an image 100 px high) is that
    of Frigate's motion detector, https://docs.frigate.video/configuration/motion_detection.
    """

    def __init__(self, rules: MotionRules) -> None:
        """Start open, without a background."""
        self._rules = rules
        self.area = WatchedArea()
        """May be replaced by any thread."""
        self._background: NDArray[np.float32] | None = None
        self._last_ms = 0
        self._open_until_ms = 0.0
        self.has_moved = False
        """Whether something moved in the last image itself."""

    def passes(self, image: GreyImage, captured_ms: int) -> bool:
        """Add one image and return whether its frame is to be sent."""
        self.has_moved = self._moved(image, captured_ms)
        if self.has_moved:
            self._open_until_ms = captured_ms + self._rules.hold_seconds * 1000
        self._last_ms = captured_ms
        return captured_ms <= self._open_until_ms

    def stays_still(self, image: GreyImage, captured_ms: int) -> bool:
        """Add one image unless something moves in it; return whether nothing does.

        For one that is to be added later, after those from before it.
        """
        background = None if self._background is None else self._background.copy()
        self.has_moved = self._moved(image, captured_ms)
        if self.has_moved:
            self._background = background
        else:
            self._last_ms = captured_ms
        return not self.has_moved

    def reset(self) -> None:
        """Forget the background: the camera may have been turned while it was offline."""
        self._background = None

    def _moved(self, image: GreyImage, captured_ms: int) -> bool:
        current = image.astype(np.float32)
        if self._background is None or self._background.shape != current.shape:
            self._background = current
            return True
        difference = current - self._background
        changed = np.count_nonzero(self.area.only(np.abs(difference) > _THRESHOLD))
        self._background += difference * self._learning_share(captured_ms)
        return bool(changed >= max(1.0, _CHANGED_SHARE * image.size))

    def _learning_share(self, captured_ms: int) -> np.float32:
        passed_seconds = max(0, captured_ms - self._last_ms) / 1000
        return np.float32(1 - math.exp(-passed_seconds / _MEMORY_SECONDS))
