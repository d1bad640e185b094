"""Stores the snapshot of each camera in S3."""

import threading
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import structlog

from common.records.object_keys import snapshot_key
from common.s3 import S3Bucket, S3UnavailableError
from common.settings import S3Settings
from ingest.capture.messages import EncodedImage
from ingest.metrics import IngestMetrics, SnapshotOutcome

log = structlog.get_logger(__name__)

_THREADS: Final = 2
_MAX_WAITING: Final = 200
"""Maximum number of cameras with a waiting snapshot (about 300 kB each)."""

_READ_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The latest frame of a camera, which will be stored."""

    owner_id: UUID
    camera_id: UUID
    captured_ms: int
    image: EncodedImage


class SnapshotUploader:
    """Stores snapshots in the background. A newer snapshot replaces a camera's waiting snapshot.

    While S3 is slow or unavailable, the API's snapshots become outdated. Nothing else is affected.
    Operations on a camera's snapshot are serialised. Otherwise, a slow upload could restore a
    snapshot that was deleted during the upload.
    """

    def __init__(self, settings: S3Settings, metrics: IngestMetrics) -> None:
        """Start the threads. S3 is not contacted before the first snapshot."""
        self._bucket = S3Bucket(settings, read_seconds=_READ_SECONDS, connections=_THREADS)
        self._metrics = metrics
        # By camera: the account, and the snapshot to store or None to delete it.
        self._waiting: dict[UUID, tuple[UUID, Snapshot | None]] = {}
        self._busy: set[UUID] = set()
        self._changed = threading.Condition()
        self._is_stopping = False
        self._is_failing = False
        self._threads = [
            threading.Thread(target=self._run, name=f"snapshots-{number}", daemon=True)
            for number in range(_THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def offer(self, snapshot: Snapshot) -> None:
        """Queue a snapshot, or skip it if too many snapshots are waiting. Never blocks."""
        with self._changed:
            is_new = snapshot.camera_id not in self._waiting
            if is_new and len(self._waiting) >= _MAX_WAITING:
                self._metrics.snapshots.labels(SnapshotOutcome.SKIPPED).inc()
                return
            self._waiting[snapshot.camera_id] = (snapshot.owner_id, snapshot)
            self._changed.notify()

    def remove(self, owner_id: UUID, camera_id: UUID) -> None:
        """Try once to delete a camera's snapshot. The API retries if this fails. Never blocks."""
        with self._changed:
            self._waiting[camera_id] = (owner_id, None)
            self._changed.notify()

    def stop(self, timeout_seconds: float) -> bool:
        """End the threads and discard waiting snapshots. Return whether all ended in time."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(timeout_seconds / len(self._threads))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (camera_id := self._next_camera()) is not None:
            with self._changed:
                owner_id, snapshot = self._waiting.pop(camera_id)
            try:
                self._store(snapshot_key(owner_id, camera_id), snapshot)
            finally:
                with self._changed:
                    self._busy.discard(camera_id)
                    self._changed.notify()

    def _next_camera(self) -> UUID | None:
        """Reserve the next camera for this thread and return it, or None to end the thread."""
        with self._changed:
            while not self._is_stopping:
                for camera_id in self._waiting:
                    if camera_id not in self._busy:
                        self._busy.add(camera_id)
                        return camera_id
                self._changed.wait()
        return None

    def _store(self, key: str, snapshot: Snapshot | None) -> None:
        try:
            if snapshot is None:
                self._bucket.remove(key)
                return
            jpeg = snapshot.image
            noted = {
                "width": str(jpeg.width_px),
                "height": str(jpeg.height_px),
                "captured": str(snapshot.captured_ms),
            }
            self._bucket.put(key, jpeg.data, "image/jpeg", noted)
        except S3UnavailableError as error:
            self._metrics.snapshots.labels(SnapshotOutcome.FAILED).inc()
            if not self._is_failing:
                log.warning("snapshot_uploads_failing", error=error.kind)
            self._is_failing = True
        else:
            self._metrics.snapshots.labels(SnapshotOutcome.STORED).inc()
            if self._is_failing:
                log.info("snapshot_uploads_recovered")
            self._is_failing = False
