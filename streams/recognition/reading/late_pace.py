"""Selects which late frames are read: some of each camera, so that the stage catches up.

After an outage, Kafka has frames that are minutes old. Reading all of them would take as long as
the outage again; reading none would lose all vehicles of that time. So of late frames, one per
camera and time step is read: few enough to catch up, and enough for two readings of each vehicle.
If even that is too much for longer than an outage of some minutes, the steps grow, and some fresh
frames are skipped as well, so that reading stays ahead of Kafka's retention.
"""

from collections.abc import Callable
from uuid import UUID

from cachetools import LRUCache

_STEP_MS = 400
"""A vehicle that is in view for a second has two or three readings."""
_AGE_A_STEP = 900
"""Ratio of a frame's age to its step: from six minutes on steps grow, to a second for a frame that
is a quarter of an hour old."""
_MAX_CAMERAS = 10_000


class LatePace:
    """Selects the frames of a lane that are read late. Not thread-safe."""

    def __init__(self, after_ms: int, oldest_age_ms: Callable[[], int] = lambda: 0) -> None:
        """All frames that are at most ``after_ms`` old are read, unless the oldest late frame,
        whose age ``oldest_age_ms`` returns, is so old that steps grow.
        """
        self._after_ms = after_ms
        self._oldest_age_ms = oldest_age_ms
        self._read_ms: LRUCache[UUID, int] = LRUCache(_MAX_CAMERAS)

    def is_late(self, age_ms: int) -> bool:
        """Return whether a frame of this age has waited too long."""
        return age_ms > self._after_ms

    def admits(self, camera_id: UUID, captured_ms: int, *, age_ms: int) -> bool:
        """Return whether to read a frame. Must be called in the order of a camera's frames.

        A frame that is repeated, or is older than an admitted one, is admitted: it is a retry, or
        the camera's clock was set back.
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
