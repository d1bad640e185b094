"""Selects the frames to send, which are evenly spaced, and only sent while something moves."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

_EARLY_SHARE = 0.02
"""Fraction of the interval by which a frame can be early, because camera timestamps jitter."""


class Sampler:
    """Selects frames that are evenly spaced in the stream's time.

    A late frame does not shift the grid. Therefore sampling a stream of 25 fps at 5 fps selects
    every fifth frame, and the right number of frames is selected from an irregular stream.
    """

    def __init__(self) -> None:
        """Create a sampler, which always selects the first frame."""
        self._due_seconds: float | None = None

    def selects(self, stream_seconds: float, frames_per_second: float) -> bool:
        """Return whether to process the frame at this time within the stream."""
        interval = 1 / frames_per_second
        due = self._due_seconds
        # A jump in the stream's time, back or far ahead, starts a new grid.
        if due is None or abs(stream_seconds - due) > 2 * interval:
            due = stream_seconds
        if stream_seconds < due - _EARLY_SHARE * interval:
            self._due_seconds = due
            return False
        self._due_seconds = due + interval
        return True


GreyImage = NDArray[np.uint8]
"""Brightness image of shape (height, width), 100 px high and at most 1,000 px wide."""

_MEMORY_SECONDS: Final = 10.0
"""Time constant of the background. A car that creeps at 5 cm/s still changes hundreds of pixels of
the reduced image within this time. A stopped car is background after about 20 s."""

_THRESHOLD: Final = 12
"""Minimum difference in brightness (0 to 255) of a changed pixel. Night noise, averaged over the
pixels that form a pixel of the reduced image, stays below a quarter of this difference."""

_CHANGED_SHARE: Final = 0.0015
"""Minimum fraction of changed pixels: a tenth of a small car in a wide view, but more than the
seconds of a clock that the camera overlays on the image."""


class MotionFilter:
    """Passes a camera's frames during motion and for some time afterwards.

    Compares each image with a moving average of the earlier images, which also detects motion that
    is too slow for a comparison of consecutive frames. If a car stops, frames pass until the car
    has become background, and again when the car moves. Its pass was already captured when it
    arrived. The first frames always pass.

    **Source:** the method (difference from a moving average of an image 100 px high) is that of
    Frigate's motion detector, https://docs.frigate.video/configuration/motion_detection.
    """

    def __init__(self, hold_seconds: float) -> None:
        """Create a filter without a background. The first frame passes."""
        self._hold_ms = hold_seconds * 1000
        self._background: NDArray[np.float32] | None = None
        self._last_ms = 0
        self._open_until_ms = 0.0

    def passes(self, image: GreyImage, captured_ms: int) -> bool:
        """Add an image. Return whether to send the frame."""
        if self._moved(image, captured_ms):
            self._open_until_ms = captured_ms + self._hold_ms
        self._last_ms = captured_ms
        return captured_ms <= self._open_until_ms

    def stays_still(self, image: GreyImage, captured_ms: int) -> bool:
        """Return whether nothing moves in an image. Add the image only if nothing moves.

        An image with motion can be added later, after the images before it.
        """
        background = None if self._background is None else self._background.copy()
        if self._moved(image, captured_ms):
            self._background = background
            return False
        self._last_ms = captured_ms
        return True

    def reset(self) -> None:
        """Discard the background, because the camera may have been turned while it was offline."""
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
