"""One camera that this worker has: its connection, its frames, its status."""

import threading
from dataclasses import dataclass
from uuid import UUID

import structlog

from contracts.cameras import CameraConfig, CameraState, CameraStatus
from contracts.errors import InvalidInputError, MisconfiguredError
from contracts.secrets import SecretBox
from contracts.stream_urls import StreamUrl, parse_stream_url
from ingest.faults import CaptureFault
from ingest.lane import FrameLane, LaneRules, LaneServices
from ingest.metrics import IngestMetrics
from ingest.moments import Moment, Now
from ingest.pictures import Picture
from ingest.reader import Reader, ReaderRules
from ingest.status import CameraIdentity, StatusRules, StatusTracker

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class CameraRules:
    """What the settings say about every camera."""

    worker: str
    reader: ReaderRules
    lane: LaneRules
    status: StatusRules


@dataclass(frozen=True, kw_only=True)
class CameraServices:
    """What the cameras of a worker share."""

    lane: LaneServices
    secrets: SecretBox
    metrics: IngestMetrics
    now: Now


class Camera:
    """Captures as its configuration says, until it is stopped.

    Only the reader that was started last is listened to, so that one that still waits for its
    peer's time-out can do no harm.
    """

    def __init__(self, config: CameraConfig, rules: CameraRules, services: CameraServices) -> None:
        """Take the camera; nothing is captured before :meth:`start`."""
        self._rules = rules
        self._services = services
        self._lock = threading.Lock()
        self._config = config
        self._lane = FrameLane(config, rules.lane, services.lane)
        self._reader: Reader | None = None
        self._prepared: Reader | None = None
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
        """The camera's state as last told."""
        return self._tracker.state

    def start(self) -> None:
        """Begin the capture that a new configuration asks for, if there is one to begin.

        Apart from :meth:`update`, so that its state can be told before the first frame's.
        """
        with self._lock:
            prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.start()

    def update(self, config: CameraConfig) -> Reader | None:
        """Take another configuration; the capture begins anew only where the address changed.

        Returns the reader that was stopped, if any; :meth:`start` begins the new one.
        """
        with self._lock:
            changed = self._address(config) != self._address(self._config)
            self._config = self._lane.config = config
            if not changed:
                self._tracker.retold()
                return None
            stopped = self._stop_reader()
            if config.enabled:
                self._lane.disconnected()
            else:
                self._lane.end()
            self._tracker = self._begin()
            return stopped

    def stop(self) -> Reader | None:
        """End the capture; returns at once, with the reader that was stopped, if any."""
        with self._lock:
            stopped = self._stop_reader()
        self._lane.close()
        return stopped

    def end(self) -> Reader | None:
        """As :meth:`stop`, for a camera that no other worker goes on with: it was deleted."""
        with self._lock:
            stopped = self._stop_reader()
        self._lane.end(deleted=True)
        return stopped

    def due_status(self, now: Moment) -> CameraStatus | None:
        """Return the status if it is time to tell it."""
        with self._lock:
            identity = CameraIdentity(
                camera_id=self._config.camera_id,
                owner_id=self._config.owner_id,
                revision=self._config.revision,
                worker=self._rules.worker,
            )
            return self._tracker.due(now, identity)

    def tick_if_silent(self, now: Moment) -> None:
        """Move the camera's clock on when no frame did; not for a disabled camera."""
        if self._config.enabled:
            self._lane.tick_if_silent(now)

    def connected(self, reader: Reader) -> None:
        """Hear that a new connection begins (reader's thread)."""
        if reader is self._reader:
            self._lane.connected()

    def frame(
        self,
        reader: Reader,
        picture: Picture,
        stream_seconds: float,
        captured_ms: int,
        arrival: Moment,
    ) -> None:
        """Hear of a decoded frame (reader's thread)."""
        with self._lock:
            if reader is not self._reader:
                return
            self._tracker.frame_seen(arrival, picture.width_px, picture.height_px)
        self._lane.offer(picture, stream_seconds, captured_ms)

    def failed(self, reader: Reader, fault: CaptureFault) -> None:
        """Hear that a connection failed or ended (reader's thread)."""
        with self._lock:
            if reader is not self._reader:
                return
            self._tracker.failed(fault)
        self._services.metrics.connection_lost(fault)
        self._lane.disconnected()

    def _begin(self) -> StatusTracker:
        now = self._services.now()
        tracker = StatusTracker(self._rules.status, now, enabled=self._config.enabled)
        if not self._config.enabled:
            return tracker
        url = self._open_address()
        if isinstance(url, CaptureFault):
            tracker.failed(url)
            return tracker
        self._lane.resume()
        name = f"camera-{self._config.camera_id}"
        self._reader = Reader(name, url, self._rules.reader, self, self._services.now)
        self._prepared = self._reader
        return tracker

    def _open_address(self) -> StreamUrl | CaptureFault:
        try:
            text = self._services.secrets.decrypt(self._config.stream_url_encrypted)
            return parse_stream_url(text, self._rules.reader.addresses)
        except MisconfiguredError:
            log.error("stream_address_undecryptable", camera_id=str(self.camera_id))
            self._services.metrics.config_fault()
            return CaptureFault.SECRET_KEY
        except InvalidInputError as error:
            log.error("stream_address_refused", camera_id=str(self.camera_id), code=error.code)
            self._services.metrics.config_fault()
            return CaptureFault.FORBIDDEN

    def _stop_reader(self) -> Reader | None:
        stopped, self._reader = self._reader, None
        if stopped is not None:
            stopped.stop()
        return stopped

    @staticmethod
    def _address(config: CameraConfig) -> tuple[bool, str]:
        return config.enabled, config.stream_url_encrypted
