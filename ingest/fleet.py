"""The cameras that this worker has, by the partitions that it was given."""

import threading
from collections import Counter
from typing import Protocol
from uuid import UUID

import structlog

from contracts.cameras import CameraConfig, CameraState, CameraStatus
from ingest.camera import Camera, CameraRules, CameraServices
from ingest.config_log import ConfigChange
from ingest.moments import Moment
from ingest.reader import Reader

log = structlog.get_logger(__name__)


class StatusSink(Protocol):
    """Where camera status goes (see :class:`ingest.publisher.Publisher`)."""

    def send_status(self, status: CameraStatus) -> None:
        """Tell a camera's status."""

    def delete_status(self, camera_id: UUID) -> None:
        """Tell that a camera is gone."""


class SnapshotRemover(Protocol):
    """Who forgets a camera's snapshot (see :class:`ingest.snapshots.SnapshotUploader`)."""

    def remove(self, owner_id: UUID, camera_id: UUID) -> None:
        """Remove a camera's snapshot. Never blocks."""


class Fleet:
    """Starts, changes and stops cameras. Thread-safe; nothing here waits for a camera."""

    def __init__(
        self,
        rules: CameraRules,
        services: CameraServices,
        statuses: StatusSink,
        snapshots: SnapshotRemover,
    ) -> None:
        """Start without cameras."""
        self._rules = rules
        self._services = services
        self._statuses = statuses
        self._snapshots = snapshots
        self._lock = threading.Lock()
        self._partitions: dict[int, dict[UUID, Camera]] = {}
        self._stopping: list[Reader] = []
        self._stopping_lock = threading.Lock()

    def own(self, partition: int) -> None:
        """Accept changes of a partition's cameras from now on."""
        with self._lock:
            self._partitions.setdefault(partition, {})

    def release(self, partition: int) -> None:
        """Stop a partition's cameras, because another worker has them now."""
        with self._lock:
            cameras = self._partitions.pop(partition, {})
        for camera in cameras.values():
            self._retire(camera.stop())

    def apply(self, change: ConfigChange) -> None:
        """Bring one camera to what its configuration says; ignored for a partition not owned."""
        with self._lock:
            cameras = self._partitions.get(change.partition)
            if cameras is None:
                return
            if change.config is None:
                self._remove(cameras, change.camera_id)
            else:
                self._take(cameras, change.config)

    def tend(self, now: Moment) -> None:
        """Tell what is due: status and ticks; to be called a few times a second."""
        states: Counter[CameraState] = Counter()
        for camera in self._all():
            self._tell_if_held(camera, now)
            camera.tick_if_silent(now)
            states[camera.state] += 1
        for state in CameraState:
            self._services.metrics.cameras(state, states[state])

    def stop(self) -> None:
        """Stop all cameras; returns at once."""
        with self._lock:
            partitions = tuple(self._partitions)
        for partition in partitions:
            self.release(partition)

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the readers that were stopped; returns whether all ended in time."""
        deadline = self._services.now().seconds + timeout_seconds
        with self._stopping_lock:
            stopping = tuple(self._stopping)
        return all(r.join(max(0.0, deadline - self._services.now().seconds)) for r in stopping)

    def _all(self) -> tuple[Camera, ...]:
        with self._lock:
            return tuple(
                camera for cameras in self._partitions.values() for camera in cameras.values()
            )

    def _take(self, cameras: dict[UUID, Camera], config: CameraConfig) -> None:
        camera = cameras.get(config.camera_id)
        if camera is None:
            camera = cameras[config.camera_id] = Camera(config, self._rules, self._services)
            log.info("camera_taken", camera_id=str(config.camera_id), revision=config.revision)
        else:
            self._retire(camera.update(config))
            log.info("camera_changed", camera_id=str(config.camera_id), revision=config.revision)
        self._tell(camera, self._services.now())
        camera.start()

    def _remove(self, cameras: dict[UUID, Camera], camera_id: UUID) -> None:
        camera = cameras.pop(camera_id, None)
        if camera is not None:
            self._retire(camera.end())
            self._snapshots.remove(camera.owner_id, camera_id)
            log.info("camera_removed", camera_id=str(camera_id))
        # Also for one that was deleted while no worker ran.
        self._statuses.delete_status(camera_id)

    def _tell_if_held(self, camera: Camera, now: Moment) -> None:
        # Sent under the lock: after the word that a camera is gone none of its status may follow,
        # or the topic keeps that for ever.
        with self._lock:
            held = (cameras.get(camera.camera_id) for cameras in self._partitions.values())
            if any(other is camera for other in held):
                self._tell(camera, now)

    def _tell(self, camera: Camera, now: Moment) -> None:
        status = camera.due_status(now)
        if status is not None:
            self._statuses.send_status(status)

    def _retire(self, reader: Reader | None) -> None:
        if reader is not None:
            with self._stopping_lock:
                self._stopping = [r for r in self._stopping if not r.join(0)] + [reader]
