"""What is told about a camera, and when."""

from dataclasses import dataclass
from uuid import UUID

from contracts.cameras import CameraState, CameraStatus
from ingest.faults import CaptureFault
from ingest.moments import Moment


@dataclass(frozen=True, kw_only=True)
class StatusRules:
    """When a camera counts as offline, and how often it is told that nothing changed."""

    offline_after_seconds: float
    heartbeat_seconds: float = 5.0


@dataclass(frozen=True, kw_only=True)
class CameraIdentity:
    """Who a status speaks of: the camera, its owner, the revision acted on, this worker."""

    camera_id: UUID
    owner_id: UUID
    revision: int
    worker: str


class StatusTracker:
    """State of one camera: connecting, online on the first frame, offline after a while without.

    A fault alone changes nothing: a camera that is back within the time was never offline. Not
    thread-safe.
    """

    def __init__(self, rules: StatusRules, start: Moment, *, enabled: bool = True) -> None:
        """Begin when a worker takes the camera."""
        self._rules = rules
        self.state = CameraState.CONNECTING if enabled else CameraState.DISABLED
        self._alive = start
        self._told_seconds: float | None = None
        self._last_seen_ms: int | None = None
        self._fault: CaptureFault | None = None
        self._size_px: tuple[int, int] | None = None

    def frame_seen(self, at: Moment, width_px: int, height_px: int) -> None:
        """Note a decoded frame."""
        self._alive = at
        self._last_seen_ms = at.unix_ms
        self._size_px = (width_px, height_px)
        self._fault = None
        self._enter(CameraState.ONLINE)

    def failed(self, fault: CaptureFault) -> None:
        """Note why there is no frame."""
        self._fault = fault

    def retold(self) -> None:
        """Have the status told again at once, because the configuration changed."""
        self._told_seconds = None

    def due(self, at: Moment, identity: CameraIdentity) -> CameraStatus | None:
        """Return the status if it is time to tell it: on a change and as a sign of life."""
        self._look_at_clock(at)
        if not self._is_due(at):
            return None
        self._told_seconds = at.seconds
        return self._status(at, identity)

    def _look_at_clock(self, at: Moment) -> None:
        waiting = self.state in (CameraState.CONNECTING, CameraState.ONLINE)
        if waiting and at.seconds - self._alive.seconds >= self._rules.offline_after_seconds:
            self._fault = self._fault or CaptureFault.SILENT
            self._enter(CameraState.OFFLINE)

    def _enter(self, state: CameraState) -> None:
        if state is not self.state:
            self.state = state
            self._told_seconds = None

    def _is_due(self, at: Moment) -> bool:
        if self._told_seconds is None:
            return True
        if self.state is CameraState.DISABLED:
            return False
        return at.seconds - self._told_seconds >= self._rules.heartbeat_seconds

    def _status(self, at: Moment, identity: CameraIdentity) -> CameraStatus:
        width_px, height_px = self._size_px or (None, None)
        return CameraStatus(
            camera_id=identity.camera_id,
            owner_id=identity.owner_id,
            revision=identity.revision,
            worker=identity.worker,
            state=self.state,
            at_ms=at.unix_ms,
            last_seen_ms=self._last_seen_ms,
            last_error=None if self._fault is None else self._fault.value,
            frame_width_px=width_px,
            frame_height_px=height_px,
        )
