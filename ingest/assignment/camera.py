"""The capture session of one camera: its reader, its frames, its status."""

import threading
from dataclasses import dataclass
from uuid import UUID

import structlog

from common.errors import InvalidInputError, MisconfiguredError
from common.records.cameras import CameraConfig, CameraState, CameraStatus
from common.secrets import SecretBox
from common.urls.streams import StreamUrl, parse_stream_url
from ingest.capture.reading import CameraConnection, CapturedFrame, FrameReader, ReaderSettings
from ingest.clocks import Clock, Instant
from ingest.errors import CaptureErrorCode
from ingest.frames.pipeline import FramePipeline, PipelineDeps, PipelineSettings
from ingest.metrics import IngestMetrics
from ingest.status import CameraIdentity, StatusRules, StatusTracker

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class CameraSessionSettings:
    """Settings that all camera sessions share. ``worker`` names this worker in status."""

    worker: str
    reader: ReaderSettings
    pipeline: PipelineSettings
    status: StatusRules


@dataclass(frozen=True, kw_only=True)
class CameraSessionDeps:
    """Collaborators that all camera sessions of a worker share."""

    pipeline: PipelineDeps
    secrets: SecretBox
    metrics: IngestMetrics
    now: Clock


class CameraSession:
    """Captures one camera as configured, until it is stopped.

    Only events of the reader that was started last count, so that one that still waits for its
    peer's time-out can do no harm.
    """

    def __init__(
        self, config: CameraConfig, settings: CameraSessionSettings, deps: CameraSessionDeps
    ) -> None:
        """Prepare; nothing is captured before :meth:`start`."""
        self._settings = settings
        self._deps = deps
        self._lock = threading.Lock()
        self._config = config
        self._pipeline = FramePipeline(config, settings.pipeline, deps.pipeline)
        self._reader: FrameReader | None = None
        self._prepared: FrameReader | None = None
        with self._lock:
            self._tracker = self._begin()

    @property
    def camera_id(self) -> UUID:
        """The camera's id."""
        return self._config.camera_id

    @property
    def owner_id(self) -> UUID:
        """The owner's id."""
        return self._config.owner_id

    @property
    def state(self) -> CameraState:
        """The camera's current state."""
        return self._tracker.state

    def start(self) -> None:
        """Begin the capture that a new configuration asks for, if there is one to begin.

        Separate from :meth:`update`, so that its state is published before the first frame's.
        """
        with self._lock:
            prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.start(self._follow)

    def update(self, config: CameraConfig) -> FrameReader | None:
        """Apply another configuration; the capture restarts only where the address changed.

        Returns the reader that was stopped, if any; :meth:`start` begins the new one.
        """
        with self._lock:
            changed = self._address(config) != self._address(self._config)
            self._config = self._pipeline.config = config
            if not changed:
                self._tracker.publish_again()
                return None
            stopped = self._stop_reader()
            if config.enabled:
                self._pipeline.disconnected()
            else:
                self._pipeline.end()
            self._tracker = self._begin()
            return stopped

    def stop(self) -> FrameReader | None:
        """End the capture; returns immediately, with the reader that was stopped, if any."""
        with self._lock:
            stopped = self._stop_reader()
        self._pipeline.close()
        return stopped

    def end(self) -> FrameReader | None:
        """As :meth:`stop`, for a camera that no other worker goes on with: it was deleted."""
        with self._lock:
            stopped = self._stop_reader()
        self._pipeline.end(deleted=True)
        return stopped

    def due_status(self, now: Instant) -> CameraStatus | None:
        """Return the status if it is due."""
        with self._lock:
            identity = CameraIdentity(
                camera_id=self._config.camera_id,
                owner_id=self._config.owner_id,
                revision=self._config.revision,
                worker=self._settings.worker,
            )
            return self._tracker.due(now, identity)

    def tick_if_silent(self, now: Instant) -> None:
        """Move the camera's clock on when no frame did; not for a disabled camera."""
        if self._config.enabled:
            self._pipeline.tick_if_silent(now)

    def _follow(self, reader: FrameReader) -> None:
        """Read a reader's connections until it is stopped (reader's thread)."""
        for connection in reader.connections():
            with connection:
                self._read(reader, connection)
            if not connection.is_stopped:
                self._on_lost(reader, connection.error_code)

    def _read(self, reader: FrameReader, connection: CameraConnection) -> None:
        # A function of its own, so that no decoded frame is kept until the next connection.
        for event in connection:
            if isinstance(event, CapturedFrame):
                self._on_frame(reader, event)
            elif reader is self._reader:
                self._pipeline.connected()

    def _on_frame(self, reader: FrameReader, captured: CapturedFrame) -> None:
        frame = captured.frame
        with self._lock:
            if reader is not self._reader:
                return
            self._tracker.frame_seen(captured.arrival, frame.width_px, frame.height_px)
        self._pipeline.offer(frame, captured.stream_seconds, captured.captured_ms)

    def _on_lost(self, reader: FrameReader, code: CaptureErrorCode) -> None:
        with self._lock:
            if reader is not self._reader:
                return
            self._tracker.failed(code)
        self._deps.metrics.connection_lost(code)
        self._pipeline.disconnected()

    def _begin(self) -> StatusTracker:
        now = self._deps.now()
        tracker = StatusTracker(self._settings.status, now, enabled=self._config.enabled)
        if not self._config.enabled:
            return tracker
        url = self._open_address()
        if isinstance(url, CaptureErrorCode):
            tracker.failed(url)
            return tracker
        self._pipeline.resume()
        name = f"camera-{self._config.camera_id}"
        self._reader = FrameReader(name, url, self._settings.reader, self._deps.now)
        self._prepared = self._reader
        return tracker

    def _open_address(self) -> StreamUrl | CaptureErrorCode:
        try:
            text = self._deps.secrets.decrypt(self._config.stream_url_encrypted)
            return parse_stream_url(text, self._settings.reader.addresses)
        except MisconfiguredError:
            log.error("stream_address_undecryptable", camera_id=str(self.camera_id))
            self._deps.metrics.config_fault()
            return CaptureErrorCode.SECRET_KEY
        except InvalidInputError as error:
            log.error("stream_address_refused", camera_id=str(self.camera_id), code=error.code)
            self._deps.metrics.config_fault()
            return CaptureErrorCode.FORBIDDEN

    def _stop_reader(self) -> FrameReader | None:
        stopped, self._reader = self._reader, None
        if stopped is not None:
            stopped.stop()
        return stopped

    @staticmethod
    def _address(config: CameraConfig) -> tuple[bool, str]:
        return config.enabled, config.stream_url_encrypted
