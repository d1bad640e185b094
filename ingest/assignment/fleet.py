"""Manages the camera sessions of this worker, by assigned partition."""

import threading
from collections import Counter
from dataclasses import dataclass
from uuid import UUID

import structlog

from common.records.cameras import CameraConfig, CameraState
from ingest.assignment.camera import CameraSession, CameraSessionDeps, CameraSessionSettings
from ingest.clocks import Instant
from ingest.metrics import ReportedCamera
from ingest.processes.pool import Capture


@dataclass(frozen=True)
class ConfigChange:
    """New configuration of a camera. ``config`` is None if the camera was deleted."""

    partition: int
    camera_id: UUID
    config: CameraConfig | None


class ConfigState:
    """Collects the changes of each partition until the end of the partition is reached.

    The topic can contain many versions of a camera, and only the last version must start a capture.
    After the end is reached, each change applies immediately.
    """

    def __init__(self) -> None:
        """Start without assigned partitions."""
        self._catching_up: dict[int, tuple[int, dict[UUID, ConfigChange]]] = {}
        self._following: set[int] = set()

    @property
    def catching_up(self) -> frozenset[int]:
        """Assigned partitions whose end has not been reached yet."""
        return frozenset(self._catching_up)

    def has(self, partition: int) -> bool:
        """Return whether a partition is assigned to this worker."""
        return partition in self._following or partition in self._catching_up

    def assigned(self, partition: int, end_offset: int) -> None:
        """Start reading a partition with the given end offset."""
        self._following.discard(partition)
        self._catching_up[partition] = (end_offset, {})

    def revoked(self, partition: int) -> None:
        """Discard a partition's state."""
        self._following.discard(partition)
        self._catching_up.pop(partition, None)

    def read(self, change: ConfigChange) -> tuple[ConfigChange, ...]:
        """Add a record. Return the changes to apply now."""
        if change.partition in self._following:
            return (change,)
        if change.partition in self._catching_up:
            self._catching_up[change.partition][1][change.camera_id] = change
        return ()

    def reached(self, partition: int, position: int) -> tuple[ConfigChange, ...]:
        """Record the read position in a partition. At the end, return the changes to apply."""
        end_offset, changes = self._catching_up.get(partition, (None, {}))
        if end_offset is None or position < end_offset:
            return ()
        del self._catching_up[partition]
        self._following.add(partition)
        return tuple(changes.values())


log = structlog.get_logger(__name__)


class Fleet:
    """Starts, updates and stops cameras, and never waits for a camera. Thread-safe."""

    def __init__(self, settings: CameraSessionSettings, deps: CameraSessionDeps) -> None:
        """Start without cameras."""
        self._settings = settings
        self._deps = deps
        self._lock = threading.Lock()
        self._partitions: dict[int, dict[UUID, CameraSession]] = {}
        self._stopping: list[Capture] = []
        self._stopping_lock = threading.Lock()
        self.has_cameras = threading.Event()
        """Whether :meth:`publish_due` must be called a few times per second."""

    def own(self, partition: int) -> None:
        """Start accepting changes to a partition's cameras."""
        with self._lock:
            self._partitions.setdefault(partition, {})

    def release(self, partition: int) -> None:
        """Stop a partition's cameras, which another worker takes over."""
        with self._lock:
            cameras = self._partitions.pop(partition, {})
        for camera in cameras.values():
            self._retire(camera.stop())

    def apply(self, change: ConfigChange) -> None:
        """Apply a camera's configuration if its partition is owned."""
        with self._lock:
            cameras = self._partitions.get(change.partition)
            if cameras is None:
                return
            if change.config is None:
                self._remove(cameras, change.camera_id)
            else:
                self._start_or_update(cameras, change.config)

    def publish_due(self, now: Instant) -> None:
        """Publish the statuses and ticks that are due."""
        states: Counter[CameraState] = Counter()
        self.has_cameras.clear()
        for camera in self._all():
            self.has_cameras.set()
            self._publish_if_held(camera, now)
            camera.tick_if_silent(now)
            states[camera.view(now).state] += 1
        for state in CameraState:
            self._deps.metrics.cameras.labels(state).set(states[state])

    def views(self, now: Instant) -> tuple[ReportedCamera, ...]:
        """Return the current state of each camera."""
        return tuple(camera.view(now) for camera in self._all())

    def stop(self) -> None:
        """Stop all cameras without waiting for their captures to end."""
        with self._lock:
            partitions = tuple(self._partitions)
        for partition in partitions:
            self.release(partition)

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the stopped captures to end. Return whether all ended in time."""
        deadline = self._deps.now().seconds + timeout_seconds
        with self._stopping_lock:
            stopping = tuple(self._stopping)
        return all(c.join(max(0.0, deadline - self._deps.now().seconds)) for c in stopping)

    def _all(self) -> tuple[CameraSession, ...]:
        with self._lock:
            return tuple(
                camera for cameras in self._partitions.values() for camera in cameras.values()
            )

    def _start_or_update(self, cameras: dict[UUID, CameraSession], config: CameraConfig) -> None:
        camera = cameras.get(config.camera_id)
        if camera is None:
            camera = cameras[config.camera_id] = CameraSession(config, self._settings, self._deps)
            self.has_cameras.set()
            log.info("camera_assigned", camera_id=str(config.camera_id), revision=config.revision)
        else:
            self._retire(camera.update(config))
            log.info("camera_updated", camera_id=str(config.camera_id), revision=config.revision)
        self._publish_status(camera, self._deps.now())
        camera.start()

    def _remove(self, cameras: dict[UUID, CameraSession], camera_id: UUID) -> None:
        camera = cameras.pop(camera_id, None)
        if camera is not None:
            self._retire(camera.stop(deleted=True))
            log.info("camera_deleted", camera_id=str(camera_id))
        # If no worker was running when the camera was deleted, its status still exists.
        self._deps.frames.delete_status(camera_id)

    def _publish_if_held(self, camera: CameraSession, now: Instant) -> None:
        # Send while holding the lock, because a status after the camera's tombstone would remain in
        # the topic forever.
        with self._lock:
            held = (cameras.get(camera.camera_id) for cameras in self._partitions.values())
            if any(other is camera for other in held):
                self._publish_status(camera, now)

    def _publish_status(self, camera: CameraSession, now: Instant) -> None:
        status = camera.due_status(now)
        if status is not None:
            self._deps.frames.send_status(status)

    def _retire(self, capture: Capture | None) -> None:
        if capture is not None:
            with self._stopping_lock:
                self._stopping = [c for c in self._stopping if not c.join(0)] + [capture]
