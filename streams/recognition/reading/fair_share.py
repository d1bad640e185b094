"""Selects which frames are skipped under overload: frames of the accounts that send most.

While the stage keeps up, all frames are read. If frames are late and cameras send more than the
stage can read, the capacity is shared between the accounts (max-min fairness). All frames of
accounts that send at most an equal share are read. The unused capacity goes to the other accounts,
whose frames are thinned out evenly, which is best for tracking. No frames are skipped here if only
one account sends, or if the stage catches up after an outage (reading more than cameras send).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

_BEHIND_MS = 500
_MEASURE_SECONDS = 0.5
_MAX_GAP_MS = 2_000
_WEIGHT = 0.2
_LEARNING_WEIGHT = 0.05
_HEADROOM = 0.85
"""Fraction of the capacity that is shared. The remaining capacity is for catching up."""
_MARGIN = 1.1
"""Ratio of sent to readable frames above which frames are skipped. Both numbers are estimates."""
_LOWEST_FACTOR, _DOWN, _UP = 0.6, 0.95, 1.02
"""The shared capacity is reduced in steps, down to a minimum, while frames remain late."""
_FORGOTTEN_SECONDS = 10.0


@dataclass
class _Camera:
    owner_id: UUID
    captured_ms: int
    seen_seconds: float
    gap_ms: float = math.inf


class FairShare:
    """Shares the capacity of one worker. Not thread-safe."""

    def __init__(
        self, clock: Callable[[], float], *, readers: int, is_busy: Callable[[], bool]
    ) -> None:
        """``clock`` is monotonic, in seconds. Each of the ``readers`` reads one frame at a time.
        ``is_busy`` returns whether all readers are working: frames also seem late if the clocks of
        two machines differ.
        """
        self._clock = clock
        self._readers = readers
        self._is_busy = is_busy
        self._cameras: dict[UUID, _Camera] = {}
        self._measured_seconds = clock()
        self._asked = self._late = 0
        self._was_behind = False
        self._frame_seconds: float | None = None
        self._factor = 1.0
        self._shares: Mapping[UUID, float] = {}
        self._credits: defaultdict[UUID, float] = defaultdict(float)

    def admits(self, owner_id: UUID, camera_id: UUID, captured_ms: int, *, age_ms: int) -> bool:
        """Return whether to read a frame. Call this for every frame of a camera, in order.

        ``age_ms`` is the time since the frame was captured.
        """
        now = self._clock()
        self._record(owner_id, camera_id, captured_ms, now)
        self._asked += 1
        self._late += age_ms > _BEHIND_MS and self._is_busy()
        if now - self._measured_seconds >= _MEASURE_SECONDS:
            self._measure(now)
        share = self._shares.get(owner_id, 1.0)
        if share >= 1.0:
            return True
        credit = self._credits[owner_id] + share
        self._credits[owner_id] = credit % 1.0
        return credit >= 1.0

    def was_read(self, duration_ms: float) -> None:
        """Record how long an inference worker needed for an admitted frame."""
        seconds = duration_ms / 1_000
        former = self._frame_seconds
        self._frame_seconds = (
            seconds if former is None else former + _LEARNING_WEIGHT * (seconds - former)
        )

    def _record(self, owner_id: UUID, camera_id: UUID, captured_ms: int, now: float) -> None:
        camera = self._cameras.setdefault(camera_id, _Camera(owner_id, captured_ms, now))
        gap_ms = captured_ms - camera.captured_ms
        # A longer gap is a pause between movements, in which there is nothing to read.
        if 0 < gap_ms <= _MAX_GAP_MS:
            is_first = math.isinf(camera.gap_ms)
            camera.gap_ms = (
                gap_ms if is_first else camera.gap_ms + _WEIGHT * (gap_ms - camera.gap_ms)
            )
        camera.owner_id = owner_id
        camera.captured_ms = max(camera.captured_ms, captured_ms)
        camera.seen_seconds = now

    def _measure(self, now: float) -> None:
        is_behind = 2 * self._late >= self._asked
        stays_behind = is_behind and self._was_behind
        self._measured_seconds, self._asked, self._late = now, 0, 0
        self._was_behind = is_behind
        wanted = self._wanted_hz(now)
        if not self._is_too_much(wanted, stays_behind):
            self._shares, self._factor = {}, 1.0
            return
        step = _DOWN if stays_behind else _UP
        self._factor = min(1.0, max(_LOWEST_FACTOR, self._factor * step))
        self._shares = shares(wanted, _HEADROOM * self._factor * self._capacity_hz)

    @property
    def _capacity_hz(self) -> float:
        """Number of frames per second that all inference workers can read, at first infinite."""
        return self._readers / self._frame_seconds if self._frame_seconds else math.inf

    def _is_too_much(self, wanted: Mapping[UUID, float], stays_behind: bool) -> bool:
        """Return whether several accounts together send too much. Catching up does not count."""
        total = sum(wanted.values())
        if len(wanted) < 2:
            return False
        if self._shares:
            return total > self._capacity_hz
        return stays_behind and total > _MARGIN * self._capacity_hz

    def _wanted_hz(self, now: float) -> dict[UUID, float]:
        """Return how many frames per second each account's cameras send, by capture time."""
        self._cameras = {
            camera_id: camera
            for camera_id, camera in self._cameras.items()
            if now - camera.seen_seconds < _FORGOTTEN_SECONDS
        }
        wanted: defaultdict[UUID, float] = defaultdict(float)
        for camera in self._cameras.values():
            if not math.isinf(camera.gap_ms):
                wanted[camera.owner_id] += 1_000 / camera.gap_ms
        return dict(wanted)


def shares(wanted: Mapping[UUID, float], capacity: float) -> dict[UUID, float]:
    """Return for each account the fraction of its demand that fits, as evenly as possible.

    A level is chosen that uses up the capacity (max-min fairness): accounts that demand less get
    everything, and all other accounts get the level. Accounts that get everything are omitted.
    """
    left, found = capacity, dict[UUID, float]()
    by_size = sorted(wanted, key=lambda owner_id: wanted[owner_id])
    for number, owner_id in enumerate(by_size):
        level = max(0.0, left) / (len(by_size) - number)
        got = min(wanted[owner_id], level)
        left -= got
        if got < wanted[owner_id]:
            found[owner_id] = got / wanted[owner_id]
    return found
