"""Which frames are read that waited too long: some of each camera, so that the stage catches up.

After an outage frames lie on Kafka that are minutes old. All of them read, it would take as long
again until they are done; none of them read, every vehicle of that time would be lost. So of what
is old a camera has one frame read in so many milliseconds, few enough to catch up and enough for
two readings of each vehicle. Where even that is too much, for longer than an outage of some
minutes, they are ever fewer, and of fresh frames some are left out, too, so that what is read stays
ahead of Kafka's retention.
"""

from collections.abc import Callable
from uuid import UUID

from cachetools import LRUCache

_STEP_MS = 400
"""A vehicle that is seen for a second has two readings or three."""
_AGE_A_STEP = 900
"""A frame that is so many times older than its step: from six minutes on steps grow, to a second
for a frame of a quarter of an hour."""
_MAX_CAMERAS = 10_000


class LatePace:
    """Chooses the frames of a lane that are read late. Not thread-safe."""

    def __init__(self, after_ms: int, oldest_age_ms: Callable[[], int] = lambda: 0) -> None:
        """Frames that are no older than ``after_ms`` are all read, unless what is read late is so
        old that its steps grow: ``oldest_age_ms`` returns the age of the oldest of it.
        """
        self._after_ms = after_ms
        self._oldest_age_ms = oldest_age_ms
        self._read_ms: LRUCache[UUID, int] = LRUCache(_MAX_CAMERAS)

    def is_late(self, age_ms: int) -> bool:
        """Return whether a frame of that age has waited too long."""
        return age_ms > self._after_ms

    def admits(self, camera_id: UUID, captured_ms: int, *, age_ms: int) -> bool:
        """Return whether a frame is to be read. It is asked in the order of a camera's frames.

        One that is asked about again, or comes before one that was admitted, is admitted: it is
        tried again, or its camera's clock was set back.
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
    """Return the least time between two frames of a camera that are read late."""
    return max(_STEP_MS, age_ms // _AGE_A_STEP)
