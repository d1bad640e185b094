"""Tracks the status of a camera and decides when it is published."""

from typing import Final

from common.records.cameras import CameraConfig, CameraState, CameraStatus
from ingest.clocks import Instant
from ingest.errors import CaptureErrorCode

_HEARTBEAT_SECONDS: Final = 5.0
"""Interval of unchanged status records."""


class StatusTracker:
    """Tracks the state of a camera: first connecting, then online, or offline if frames stop.

    An error alone does not change the state: a camera that recovers before the offline timeout was
    never offline. Not thread-safe.
    """

    def __init__(
        self, offline_after_seconds: float, start: Instant, *, enabled: bool = True
    ) -> None:
        """Start tracking when the camera is assigned to a worker.

        A camera is offline after ``offline_after_seconds`` without a frame.
        """
        self._offline_after_seconds = offline_after_seconds
        self.state = CameraState.CONNECTING if enabled else CameraState.DISABLED
        self._last_frame = start
        self._published_seconds: float | None = None
        self._last_seen_ms: int | None = None
        self._error_code: CaptureErrorCode | None = None
        self._size_px: tuple[int, int] | None = None
        self._decoder: str | None = None

    def on_frame(self, at: Instant, width_px: int, height_px: int, decoder: str) -> None:
        """Record a decoded frame."""
        self._last_frame = at
        self._last_seen_ms = at.unix_ms
        self._size_px = (width_px, height_px)
        self._decoder = decoder
        self._error_code = None
        self._enter(CameraState.ONLINE)

    def failed(self, code: CaptureErrorCode) -> None:
        """Record the reason why there is no frame."""
        self._error_code = code

    def publish_again(self) -> None:
        """Make the status due again, because the configuration changed."""
        self._published_seconds = None

    def silent_seconds(self, at: Instant) -> float | None:
        """Return the time since the last frame, or None if the camera is disabled."""
        if self.state is CameraState.DISABLED:
            return None
        return max(0.0, at.seconds - self._last_frame.seconds)

    def due(self, at: Instant, config: CameraConfig, worker: str) -> CameraStatus | None:
        """Return the status if it is due because of a change or as a heartbeat, otherwise None.

        ``worker`` is the worker's name in the status.
        """
        self._check_silence(at)
        if not self._is_due(at):
            return None
        self._published_seconds = at.seconds
        width_px, height_px = self._size_px or (None, None)
        return CameraStatus(
            camera_id=config.camera_id,
            owner_id=config.owner_id,
            revision=config.revision,
            worker=worker,
            state=self.state,
            at_ms=at.unix_ms,
            last_seen_ms=self._last_seen_ms,
            last_error=None if self._error_code is None else self._error_code.value,
            frame_width_px=width_px,
            frame_height_px=height_px,
            decoder=self._decoder,
        )

    def _check_silence(self, at: Instant) -> None:
        waiting = self.state in (CameraState.CONNECTING, CameraState.ONLINE)
        if waiting and at.seconds - self._last_frame.seconds >= self._offline_after_seconds:
            self._error_code = self._error_code or CaptureErrorCode.SILENT
            self._enter(CameraState.OFFLINE)

    def _enter(self, state: CameraState) -> None:
        if state is not self.state:
            self.state = state
            self._published_seconds = None

    def _is_due(self, at: Instant) -> bool:
        if self._published_seconds is None:
            return True
        if self.state is CameraState.DISABLED:
            return False
        return at.seconds - self._published_seconds >= _HEARTBEAT_SECONDS
