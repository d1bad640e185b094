"""One camera's capture before the pool that places it: what it is, and who hears of it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from common.records.frames import Zone
from common.retry import Backoff, RetryPolicy
from common.urls.streams import StreamUrl
from ingest.capture.messages import Begin, Looked, Seen
from ingest.errors import CaptureErrorCode

_QUARANTINE: Final = RetryPolicy(
    first_pause_seconds=10.0, longest_pause_seconds=900.0, spread=(0.75, 1.25)
)
ACQUITTED_SECONDS: Final = 120.0
"""A capture under suspicion that lets its process run for so long is a good one."""


class CaptureListener(Protocol):
    """Hears of one capture (see :class:`ingest.assignment.camera.CameraSession`)."""

    def on_connected(self, capture: "Capture") -> None:
        """Note that a connection to the camera is open."""

    def on_looked(self, capture: "Capture", looked: Looked) -> None:
        """Take a frame."""

    def on_seen(self, capture: "Capture", seen: Seen) -> None:
        """Note that the camera gives frames."""

    def on_left(self, capture: "Capture", count: int) -> None:
        """Note that frames were left out."""

    def on_lost(self, capture: "Capture", code: CaptureErrorCode) -> None:
        """Note that the connection is over."""

    def on_motion(self, capture: "Capture", code: CaptureErrorCode | None) -> None:
        """Note why the motion stream is not used; None: it is again."""


class Keeper(Protocol):
    """Does what captures are told (see :class:`ingest.processes.pool.CapturePool`)."""

    def put(self, task: Callable[[], object]) -> None:
        """Have something done in the keeper's thread."""

    def place(self, capture: "Capture") -> None:
        """Start a capture."""

    def adjust(self, capture: "Capture", sample_fps: float, zones: tuple[Zone, ...]) -> None:
        """Set a capture's rate and zones."""

    def cease(self, capture: "Capture") -> None:
        """End a capture."""


def _backoff() -> Backoff:
    return Backoff(_QUARANTINE, ACQUITTED_SECONDS)


@dataclass(eq=False)
class Capture:
    """One stream address that is captured until it is stopped. Make it with
    :meth:`CapturePool.capture`.
    """

    number: int
    name: str
    url: StreamUrl
    sample_fps: float
    listener: CaptureListener
    pool: Keeper
    motion_url: StreamUrl | None = None
    zones: tuple[Zone, ...] = ()
    ended: threading.Event = field(default_factory=threading.Event)
    # The keeper's alone.
    is_stopped: bool = False
    is_suspect: bool = False
    thread_id: int = 0
    begun_seconds: float = 0.0
    due_seconds: float = 0.0
    backoff: Backoff = field(default_factory=_backoff)
    is_motion_barred: bool = False
    motion_thread_id: int = 0
    motion_begun_seconds: float = 0.0
    motion_due_seconds: float = 0.0
    motion_backoff: Backoff = field(default_factory=_backoff)

    def start(self) -> None:
        """Begin; returns immediately, and reports come to the listener."""
        self.pool.put(lambda: self.pool.place(self))

    def adjust(self, sample_fps: float, zones: tuple[Zone, ...] = ()) -> None:
        """Sample at another rate, or look in other zones; returns immediately."""
        self.pool.put(lambda: self.pool.adjust(self, sample_fps, zones))

    def stop(self) -> None:
        """End; returns immediately."""
        self.pool.put(lambda: self.pool.cease(self))

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the end of a capture that was stopped; returns whether it came."""
        return self.ended.wait(timeout_seconds)

    def begin(self, now_seconds: float) -> Begin:
        """Return what its process is told, and note that it begins."""
        self.begun_seconds = self.motion_begun_seconds = now_seconds
        self.thread_id = self.motion_thread_id = 0
        return Begin(
            number=self.number,
            name=self.name,
            url=self.url,
            sample_fps=self.sample_fps,
            motion_url=self.motion_url,
            is_motion_barred=self.is_motion_barred,
            zones=self.zones,
        )

    def quarantine(self, now_seconds: float) -> float:
        """Put it off until its turn, and return after how many seconds that is."""
        pause_seconds = self.backoff.next_pause_seconds(now_seconds - self.begun_seconds)
        self.due_seconds = now_seconds + pause_seconds
        return pause_seconds

    def bar_motion(self, now_seconds: float) -> float:
        """Have it go on without its motion stream; return for how many seconds."""
        ran_seconds = now_seconds - self.motion_begun_seconds
        pause_seconds = self.motion_backoff.next_pause_seconds(ran_seconds)
        self.motion_due_seconds = now_seconds + pause_seconds
        self.is_motion_barred = True
        return pause_seconds

    @property
    def has_motion(self) -> bool:
        """True while its motion stream is read."""
        return self.motion_url is not None and not self.is_motion_barred

    def may_watch(self, now_seconds: float) -> bool:
        """Return whether its motion stream is to be tried again."""
        return self.is_motion_barred and now_seconds >= self.motion_due_seconds

    def watches(self, now_seconds: float) -> None:
        """Note that its motion stream is tried again."""
        self.is_motion_barred = False
        self.motion_begun_seconds = now_seconds
