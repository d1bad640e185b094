"""Manages the session of a camera: its capture, frames and status."""

import threading
from dataclasses import dataclass
from uuid import UUID

import structlog

from common.errors import InvalidInputError, MisconfiguredError
from common.records.cameras import CameraConfig, CameraStatus
from common.secrets import SecretBox
from common.urls.streams import StreamUrl, StreamUrlRules, parse_stream_url
from ingest.capture.messages import Connected, Disconnected, Dropped, Report, Sampled, StatusReport
from ingest.clocks import Instant
from ingest.errors import CaptureErrorCode
from ingest.frames.pipeline import FramePipeline, PipelineDeps
from ingest.metrics import ReportedCamera
from ingest.processes.pool import Capture, CapturePool
from ingest.status import StatusTracker

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class CameraSessionSettings:
    """Settings that all camera sessions share. ``worker`` is this worker's name in statuses.

    A camera is offline after ``offline_after_seconds`` without a frame.
    """

    worker: str
    addresses: StreamUrlRules
    sample_fps: float
    offline_after_seconds: float


@dataclass(frozen=True, kw_only=True)
class CameraSessionDeps(PipelineDeps):
    """Collaborators that all camera sessions of a worker share."""

    captures: CapturePool
    secrets: SecretBox


class CameraSession:
    """Captures one camera as configured, until it is stopped.

    Only reports of the latest capture are processed, because an earlier capture may still be
    waiting for a timeout.
    """

    def __init__(
        self, config: CameraConfig, settings: CameraSessionSettings, deps: CameraSessionDeps
    ) -> None:
        """Prepare the session without starting the capture (see :meth:`start`)."""
        self._settings = settings
        self._deps = deps
        self._lock = threading.Lock()
        self._config = config
        self._pipeline = FramePipeline(config, deps)
        self._capture: Capture | None = None
        self._prepared: Capture | None = None
        with self._lock:
            self._tracker = self._begin()

    @property
    def camera_id(self) -> UUID:
        """The camera's ID."""
        return self._config.camera_id

    def view(self, now: Instant) -> ReportedCamera:
        """Return the camera's state and the time since its last frame."""
        with self._lock:
            tracker = self._tracker
            return ReportedCamera(self.camera_id, tracker.state, tracker.silent_seconds(now))

    def start(self) -> None:
        """Start the capture if a new configuration requires it.

        This is separate from :meth:`update`, so that the state is published before the first frame.
        """
        with self._lock:
            prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.start()

    def update(self, config: CameraConfig) -> Capture | None:
        """Apply a new configuration. A change of the URL or of ``enabled`` restarts the capture.

        Return the stopped capture, if any. :meth:`start` starts the new capture.
        """
        with self._lock:
            before, self._config, self._pipeline.config = self._config, config, config
            changed = (config.enabled, config.stream_url_encrypted) != (
                before.enabled,
                before.stream_url_encrypted,
            )
            if not changed:
                self._tracker.publish_again()
                if self._capture is not None:
                    self._capture.adjust(self._sample_fps())
                return None
            stopped = self._stop_capture()
            if config.enabled:
                self._pipeline.disconnected()
            else:
                self._pipeline.end()
            self._tracker = self._begin()
            return stopped

    def stop(self, *, deleted: bool = False) -> Capture | None:
        """Stop the capture without waiting for its end. Return the capture, if there is one.

        If the camera was ``deleted``, its passes end, and its snapshot is deleted.
        """
        with self._lock:
            stopped = self._stop_capture()
        if deleted:
            self._pipeline.end(deleted=True)
            self._deps.snapshots.remove(self._config.owner_id, self.camera_id)
        else:
            self._pipeline.close()
        return stopped

    def due_status(self, now: Instant) -> CameraStatus | None:
        """Return the status if it must be sent now, otherwise None."""
        with self._lock:
            return self._tracker.due(now, self._config, self._settings.worker)

    def tick_if_silent(self, now: Instant) -> None:
        """Send a tick if no frame was sent recently, unless the camera is disabled."""
        if self._config.enabled:
            self._pipeline.tick_if_silent(now)

    def on_report(self, capture: Capture, report: Report) -> None:
        """Handle a report of a capture. Called by the thread of the capture's process."""
        if isinstance(report, Dropped):
            self._pipeline.frames_dropped(report.count)
            return
        with self._lock:
            if capture is not self._capture:
                return
            if isinstance(report, StatusReport):
                now = self._deps.now()
                arrival = now.later(min(0.0, report.alive_seconds - now.seconds))
                self._tracker.on_frame(arrival, report.width_px, report.height_px, report.decoder)
            elif isinstance(report, Disconnected):
                self._tracker.failed(report.code)
        match report:
            case Connected():
                self._pipeline.connected()
            case Sampled():
                self._pipeline.offer(report)
            case StatusReport():
                self._pipeline.on_status(report)
            case Disconnected():
                self._deps.metrics.lost.labels(report.code.name.lower()).inc()
                self._pipeline.disconnected()

    def _begin(self) -> StatusTracker:
        now = self._deps.now()
        offline_after_seconds = self._settings.offline_after_seconds
        tracker = StatusTracker(offline_after_seconds, now, enabled=self._config.enabled)
        if not self._config.enabled:
            return tracker
        url = self._open_address(self._config.stream_url_encrypted)
        if isinstance(url, CaptureErrorCode):
            tracker.failed(url)
            return tracker
        self._pipeline.resume()
        name = f"camera-{self._config.camera_id}"
        self._capture = self._deps.captures.capture(name, url, self._sample_fps(), self.on_report)
        self._prepared = self._capture
        return tracker

    def _sample_fps(self) -> float:
        return self._config.sample_fps or self._settings.sample_fps

    def _open_address(self, encrypted: str) -> StreamUrl | CaptureErrorCode:
        try:
            text = self._deps.secrets.decrypt(encrypted)
            return parse_stream_url(text, self._settings.addresses)
        except MisconfiguredError:
            log.error("stream_url_undecryptable", camera_id=str(self.camera_id))
            self._deps.metrics.config_errors.inc()
            return CaptureErrorCode.SECRET_KEY
        except InvalidInputError as error:
            log.error("stream_url_rejected", camera_id=str(self.camera_id), code=error.code)
            self._deps.metrics.config_errors.inc()
            return CaptureErrorCode.FORBIDDEN

    def _stop_capture(self) -> Capture | None:
        stopped, self._capture = self._capture, None
        if stopped is not None:
            stopped.stop()
        return stopped
