"""Selects which late frames are read: some frames of each camera, so that the stage catches up.

After an outage, Kafka has frames that are minutes old. Reading all of them would take as long as
the outage again, and reading none would lose all vehicles of that time. Therefore one late frame
per camera and time step is read: few enough to catch up, and enough for two readings of each
vehicle. If the stage still does not catch up within a few minutes, the steps grow, and some fresh
frames are skipped as well, so that reading stays ahead of Kafka's retention.
"""

from collections.abc import Callable
from uuid import UUID

from cachetools import LRUCache

_STEP_MS = 400
"""With this step, a vehicle that is in view for a second has two or three readings."""
_AGE_A_STEP = 900
"""Ratio of a frame's age to its step. From an age of six minutes on, steps grow, up to one second
at an age of 15 minutes."""
_MAX_CAMERAS = 10_000


class LatePace:
    """Selects which late frames of a lane are read. Not thread-safe."""

    def __init__(self, after_ms: int, oldest_age_ms: Callable[[], int] = lambda: 0) -> None:
        """All frames that are at most ``after_ms`` old are read, unless the oldest late frame is so
        old that steps grow. ``oldest_age_ms`` returns the age of that frame.
        """
        self._after_ms = after_ms
        self._oldest_age_ms = oldest_age_ms
        self._read_ms: LRUCache[UUID, int] = LRUCache(_MAX_CAMERAS)

    def is_late(self, age_ms: int) -> bool:
        """Return whether a frame of this age counts as late."""
        return age_ms > self._after_ms

    def admits(self, camera_id: UUID, captured_ms: int, *, age_ms: int) -> bool:
        """Return whether to read a frame. Call this for the frames of a camera in order.

        A frame that is repeated or older than an admitted frame is admitted, because the frame is a
        retry, or the camera's clock was set back.
        """
        oldest_ms = self._oldest_age_ms()
        if not self.is_late(age_ms) and step_ms(oldest_ms) == _STEP_MS:
            return True
        passed_ms = captured_ms - self._read_ms.get(camera_id, captured_ms)
        if 0 < passed_ms < step_ms(max(age_ms, oldest_ms)):
            return False
        self._read_ms[camera_id] = captured_ms
        return True


def step_ms(age_ms: int) -> int:
    """Return the minimum time between two frames of a camera that are read late."""
    return max(_STEP_MS, age_ms // _AGE_A_STEP)
