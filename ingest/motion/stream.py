"""A camera's second, small stream, which is decoded to see whether anything moves."""

import threading
from collections.abc import Callable
from typing import Final

import structlog

from common.urls.streams import StreamUrl
from ingest.capture.messages import (
    LookSettings,
    MotionTold,
    ReaderSettings,
    Report,
    Running,
)
from ingest.capture.reading import CameraConnection, CapturedFrame, FrameReader
from ingest.capture.sampling import GreyImage, MotionGate, Sampler, WatchedArea
from ingest.clocks import Clock
from ingest.errors import CaptureError, CaptureErrorCode
from ingest.motion.trust import MotionTrust

log = structlog.get_logger(__name__)

_LOOKS_PER_SECOND: Final = 5.0
_MIN_GLIMPSE_SECONDS: Final = 5.0
_MAX_GLIMPSE_SECONDS: Final = 30.0
_TOLD_SECONDS: Final = 1.0


class MotionStream:
    """Reads a motion stream in a thread of its own; the main stream's thread asks what it shows.

    Whatever becomes of it, the main stream goes on.
    """

    def __init__(
        self,
        number: int,
        name: str,
        url: StreamUrl,
        reader: ReaderSettings,
        look: LookSettings,
        now: Clock,
        report: Callable[[Report], None],
    ) -> None:
        """``number`` is that of the camera's capture; ``report`` never waits."""
        assert look.motion is not None, "nothing is kept back without a motion gate"
        self._number = number
        self._gate = MotionGate(look.motion)
        self._report = report
        self._reader = FrameReader(f"{name}-motion", url, reader, now)
        self._lock = threading.Lock()
        self._trust = MotionTrust(look.motion.hold_seconds, now().seconds)
        self._is_refused = False
        # None at first: another process may have told of a fault.
        self._told: str | None = None
        self._told_seconds = now().seconds
        interval_seconds = max(_MIN_GLIMPSE_SECONDS, look.snapshot_interval_seconds)
        self.glimpse_seconds = min(_MAX_GLIMPSE_SECONDS, interval_seconds)
        """Time between two key frames of the main stream that are decoded to compare the two."""

    def count_in(self, area: WatchedArea) -> None:
        """Have movement count in an area only. For any thread."""
        self._gate.area = area

    def bar(self) -> None:
        """Note that it is not read for now: it has crashed its reader."""
        with self._lock:
            self._trust.lost(CaptureErrorCode.CRASH)

    def start(self) -> None:
        """Begin to read, unless it is refused."""
        with self._lock:
            if not self._is_refused:
                self._reader.start(self._follow)

    def refuse(self, code: CaptureErrorCode) -> None:
        """Read it no more, as it could save nothing, and tell why. For any thread."""
        with self._lock:
            self._is_refused = True
            self._reader.stop()
            self._tell(code)

    def stop(self) -> None:
        """Have the thread end; returns immediately."""
        self._reader.stop()

    def is_quiet(self, now_seconds: float) -> bool | None:
        """Return whether nothing moves; None: the stream is not to be gone by. For any thread."""
        with self._lock:
            if self._is_refused:
                return None
            is_quiet = self._trust.is_quiet(now_seconds)
            self._tell_if_due(now_seconds)
        return is_quiet

    def main_pictured(self, grey: GreyImage, moves: bool, now_seconds: float) -> None:
        """Note a picture of the main stream that was decoded. For any thread."""
        with self._lock:
            self._trust.main_pictured(grey, moves, now_seconds)

    def _tell_if_due(self, now_seconds: float) -> None:
        if now_seconds - self._told_seconds < _TOLD_SECONDS:
            return
        self._told_seconds = now_seconds
        self._tell(self._trust.fault(now_seconds))

    def _tell(self, fault: CaptureErrorCode | None) -> None:
        name = "" if fault is None else fault.name
        if name != self._told:
            self._told = name
            log.info("motion_stream", capture=self._number, fault=name.lower())
            self._report(MotionTold(number=self._number, fault=name))

    def _follow(self, reader: FrameReader) -> None:
        """Read the stream's connections until it is stopped (its thread)."""
        self._report(Running(number=self._number, thread_id=threading.get_ident(), is_motion=True))
        for connection in reader.connections():
            with connection:
                self._read(connection)
            if not connection.is_stopped:
                with self._lock:
                    self._trust.lost(connection.error_code)

    def _read(self, connection: CameraConnection) -> None:
        sampler = Sampler()
        # The camera may have been turned meanwhile.
        self._gate.reset()
        for event in connection:
            if connection.is_playlist:
                raise CaptureError(CaptureErrorCode.NOT_LIVE)
            if not isinstance(event, CapturedFrame):
                continue
            if not sampler.takes(event.stream_seconds, _LOOKS_PER_SECOND):
                continue
            grey = event.frame.grey()
            self._gate.passes(grey, event.captured_ms)
            with self._lock:
                self._trust.pictured(grey, self._gate.has_moved, event.arrival.seconds)
