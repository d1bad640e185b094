"""The choice of frames to send: evenly sampled, and only while something moves."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

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


class MotionFilter:
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
        self._background: NDArray[np.float32] | None = None
        self._last_ms = 0
        self._open_until_ms = 0.0

    def passes(self, image: GreyImage, captured_ms: int) -> bool:
        """Add one image and return whether its frame is to be sent."""
        if self._moved(image, captured_ms):
            self._open_until_ms = captured_ms + self._rules.hold_seconds * 1000
        self._last_ms = captured_ms
        return captured_ms <= self._open_until_ms

    def stays_still(self, image: GreyImage, captured_ms: int) -> bool:
        """Add one image unless something moves in it; return whether nothing does.

        For one that is to be added later, after those from before it.
        """
        background = None if self._background is None else self._background.copy()
        if self._moved(image, captured_ms):
            self._background = background
            return False
        self._last_ms = captured_ms
        return True

    def reset(self) -> None:
        """Forget the background: the camera may have been turned while it was offline."""
        self._background = None

    def _moved(self, image: GreyImage, captured_ms: int) -> bool:
        current = image.astype(np.float32)
        if self._background is None or self._background.shape != current.shape:
            self._background = current
            return True
        difference = current - self._background
        changed = np.count_nonzero(np.abs(difference) > _THRESHOLD)
        self._background += difference * self._learning_share(captured_ms)
        return bool(changed >= max(1.0, _CHANGED_SHARE * image.size))

    def _learning_share(self, captured_ms: int) -> np.float32:
        passed_seconds = max(0, captured_ms - self._last_ms) / 1000
        return np.float32(1 - math.exp(-passed_seconds / _MEMORY_SECONDS))
