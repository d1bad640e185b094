"""Which frames are left out when more come than can be read: those of who sends most.

While the stage keeps up, everything is read. Where it is behind and cameras send more than it
reads, what it reads a second is shared out between the owners: who sends no more than an equal
share has all frames read, what such owners leave goes to the others, and of theirs one in so many
is read, evenly, which is what tracking sees best with. After an outage, when it is behind but reads
more than is sent, and for one owner alone nobody's frames are left out here.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

_BEHIND_MS = 500
_LOOK_SECONDS = 0.5
_MAX_GAP_MS = 2_000
_WEIGHT = 0.2
_LEARNING_WEIGHT = 0.05
_HEADROOM = 0.85
"""Part of what could be read that is shared out: with the rest the stage catches up."""
_MARGIN = 1.1
"""So much more than is read must be sent before anything is left out: both are estimates."""
_LOWEST_FACTOR, _DOWN, _UP = 0.6, 0.95, 1.02
"""What is shared out is less, down to a part, for as long as the stage is behind all the same."""
_FORGOTTEN_SECONDS = 10.0


@dataclass
class _Camera:
    owner_id: UUID
    captured_ms: int
    seen_seconds: float
    gap_ms: float = math.inf


class FairShare:
    """Shares out the frames of one worker. Not thread-safe."""

    def __init__(
        self, clock: Callable[[], float], *, readers: int, is_busy: Callable[[], bool]
    ) -> None:
        """``clock`` is a monotonic one, seconds; so many ``readers`` read a frame each at a time;
        ``is_busy`` tells whether all of them are at work (frames also seem late where the clocks of
        two machines differ).
        """
        self._clock = clock
        self._readers = readers
        self._is_busy = is_busy
        self._cameras: dict[UUID, _Camera] = {}
        self._looked_seconds = clock()
        self._asked = self._late = 0
        self._was_behind = False
        self._frame_seconds: float | None = None
        self._factor = 1.0
        self._shares: Mapping[UUID, float] = {}
        self._credits: defaultdict[UUID, float] = defaultdict(float)

    def admits(self, owner_id: UUID, camera_id: UUID, captured_ms: int, *, age_ms: int) -> bool:
        """Return whether a frame is to be read. Every frame is asked about, in its camera's order.

        ``age_ms`` is the time since its capture.
        """
        now = self._clock()
        self._record(owner_id, camera_id, captured_ms, now)
        self._asked += 1
        self._late += age_ms > _BEHIND_MS and self._is_busy()
        if now - self._looked_seconds >= _LOOK_SECONDS:
            self._measure(now)
        share = self._shares.get(owner_id, 1.0)
        if share >= 1.0:
            return True
        credit = self._credits[owner_id] + share
        self._credits[owner_id] = credit % 1.0
        return credit >= 1.0

    def was_read(self, duration_ms: float) -> None:
        """Learn how long a reader had a frame that was admitted."""
        seconds = duration_ms / 1_000
        former = self._frame_seconds
        self._frame_seconds = (
            seconds if former is None else former + _LEARNING_WEIGHT * (seconds - former)
        )

    def _record(self, owner_id: UUID, camera_id: UUID, captured_ms: int, now: float) -> None:
        camera = self._cameras.setdefault(camera_id, _Camera(owner_id, captured_ms, now))
        gap_ms = captured_ms - camera.captured_ms
        # Between two stirs of a scene there is nothing to read.
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
        self._looked_seconds, self._asked, self._late = now, 0, 0
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
        """Frames that all readers together read in a second, infinite before the first one."""
        return self._readers / self._frame_seconds if self._frame_seconds else math.inf

    def _is_too_much(self, wanted: Mapping[UUID, float], stays_behind: bool) -> bool:
        """Return whether several owners send more than is read. What is late from before, and is
        read faster than more comes, is not too much.
        """
        total = sum(wanted.values())
        if len(wanted) < 2:
            return False
        if self._shares:
            return total > self._capacity_hz
        return stays_behind and total > _MARGIN * self._capacity_hz

    def _wanted_hz(self, now: float) -> dict[UUID, float]:
        """Return by owner how many frames a second the cameras send, by the times of capture."""
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
    """Return by owner the part of what is wanted that fits, as even as can be.

    Who wants no more than the level gets all, everybody else the level; it is where the capacity is
    used up (max-min fairness). Owners that get all are left out.
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
