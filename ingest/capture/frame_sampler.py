"""Samples a camera's frames, checks them for motion, and encodes those that are needed."""

from collections.abc import Callable
from typing import Final

import structlog

from ingest.capture.messages import FrameSettings, Moment, Report, Sampled, StatusReport
from ingest.capture.reading import CapturedFrame
from ingest.capture.sampling import MotionFilter, Sampler

log = structlog.get_logger(__name__)

_REPORT_SECONDS: Final = 0.4
"""Interval between two status reports of a camera."""

_LOG_FAILURE_SECONDS: Final = 60.0


class FrameSampler:
    """Processes a camera's frames in the reader's thread, and reports them in order."""

    def __init__(
        self,
        number: int,
        settings: FrameSettings,
        sample_fps: float,
        report: Callable[[Report], None],
    ) -> None:
        """``number`` identifies the capture. ``report`` must not block."""
        self._number = number
        self._settings = settings
        self._report = report
        self.sample_fps = sample_fps
        """Number of frames to sample per second. Any thread can set this."""
        self._sampler = Sampler()
        hold_seconds = settings.motion_hold_seconds
        self._motion = None if hold_seconds is None else MotionFilter(hold_seconds)
        self._opens_connection = True
        self._snapshot_due_seconds = 0.0
        self._report_due_seconds = 0.0
        self._log_due_seconds = 0.0
        self._decoded = self._still = self._failed = 0
        self.is_still = False
        """Whether the latest sampled frame shows no motion."""

    def connected(self) -> None:
        """Record a new connection."""
        self._sampler = Sampler()
        self._opens_connection = True
        self.is_still = False
        self._report_due_seconds = 0.0

    def process(self, captured: CapturedFrame) -> None:
        """Process the next frame of a stream.

        If something moves in a lone key frame (:attr:`is_still` is False), this method gets the
        frame again later.
        """
        self._decoded += 1
        if captured.is_lone_key_frame:
            if not self._stays_still(captured):
                self.is_still = False
                return
            self._attempt(captured)
        elif self._sampler.selects(captured.stream_seconds, self.sample_fps):
            self._attempt(captured)
        self._report_status(captured)

    def _stays_still(self, captured: CapturedFrame) -> bool:
        try:
            grey = captured.frame.grey()
            return self._motion is not None and self._motion.stays_still(grey, captured.captured_ms)
        except Exception:
            # Process the frame like any other frame, so that the error is handled.
            return False

    def _attempt(self, captured: CapturedFrame) -> None:
        arrival = captured.arrival
        try:
            moves = not captured.is_lone_key_frame and self._has_motion(captured)
            self._send(captured, moves)
        except Exception:
            # For example, memory is exhausted. Continue with the next frame.
            self._failed += 1
            if arrival.seconds >= self._log_due_seconds:
                self._log_due_seconds = arrival.seconds + _LOG_FAILURE_SECONDS
                log.exception("frame_processing_failed", capture=self._number)

    def _send(self, captured: CapturedFrame, moves: bool) -> None:
        frame, arrival = captured.frame, captured.arrival
        if not moves:
            self._still += 1
        is_snapshot = arrival.seconds >= self._snapshot_due_seconds
        if not moves and not is_snapshot:
            return
        image = frame.jpeg(self._settings.jpeg_quality, self._settings.max_width_px)
        if is_snapshot:
            interval_seconds = self._settings.snapshot_interval_seconds
            self._snapshot_due_seconds = arrival.seconds + interval_seconds
        self._report(
            Sampled(
                number=self._number,
                captured=_moment(captured),
                width_px=frame.width_px,
                image=image,
                moves=moves,
                is_snapshot=is_snapshot,
            )
        )

    def _has_motion(self, captured: CapturedFrame) -> bool:
        if self._motion is None:
            return True
        if self._opens_connection:
            self._motion.reset()
            self._opens_connection = False
        passes = self._motion.passes(captured.frame.grey(), captured.captured_ms)
        self.is_still = not passes
        return passes

    def _report_status(self, captured: CapturedFrame) -> None:
        frame, arrival = captured.frame, captured.arrival
        if arrival.seconds < self._report_due_seconds:
            return
        self._report_due_seconds = arrival.seconds + _REPORT_SECONDS
        self._report(
            StatusReport(
                number=self._number,
                settled=_moment(captured),
                width_px=frame.width_px,
                height_px=frame.height_px,
                decoded=self._decoded,
                still=self._still,
                failed=self._failed,
                is_still=self.is_still,
                holds_back=captured.is_lone_key_frame or captured.was_held_back,
                decoder=frame.decoder,
                alive_seconds=arrival.seconds,
            )
        )
        self._decoded = self._still = self._failed = 0


def _moment(captured: CapturedFrame) -> Moment:
    arrival = captured.arrival
    return Moment(arrival_seconds=arrival.seconds, age_ms=arrival.unix_ms - captured.captured_ms)
