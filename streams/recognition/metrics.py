"""Prometheus metrics of the recognition stage."""

from enum import StrEnum
from typing import Final
from uuid import UUID

from prometheus_client import CollectorRegistry

from common.metrics import CameraLabels, counter, gauge, histogram
from common.records.counts import CameraCounts

_FRAME_BUCKETS_SECONDS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_AGE_BUCKETS_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 20.0, 60.0)


class FrameOutcome(StrEnum):
    """How the recognition stage handled a frame."""

    READ = "read"
    LATE = "late"
    """The frame was read long after its capture."""
    STALE = "stale"
    OVER_SHARE = "fair_share"
    REFUSED = "undecodable"


class TrackOutcome(StrEnum):
    """How a vehicle's track ended."""

    RECOGNIZED = "recognized"
    SUPPRESSED = "suppressed"
    UNSURE = "unsure"


class FetchOutcome(StrEnum):
    """How an attempt to fetch a frame from the frames topic again ended."""

    FOUND = "found"
    GONE = "expired"


class ImageOutcome(StrEnum):
    """Whether the images of a pass were stored."""

    STORED = "stored"
    LATE = "late"
    REFUSED = "rejected"
    LOST = "lost"


_FRAME_COUNTS: Final = (
    *("still", "failed", "slow", "unsent", "lost"),
    *("stale", "surplus", "refused", "read"),
)
_PLATE_COUNTS: Final = ("small", "unread", "outside", "readings")
_PASS_COUNTS: Final = ("reported", "repeated", "unsure", "fragments")


class RecognitionMetrics:
    """The metrics of one worker. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None, *, cameras: int = 0) -> None:
        """Register the metrics in ``registry``, or in a new registry.

        ``cameras`` is the maximum number of cameras with separate metrics.
        """
        registry = registry or CollectorRegistry()
        self.frames = counter("platestream_recognition_frames_total", registry)
        self.tracks = counter("platestream_recognition_tracks_total", registry)
        self.fetched = counter("platestream_recognition_frames_refetched_total", registry)
        self.replaced = gauge("platestream_recognition_workers_replaced", registry)
        self.images = counter("platestream_recognition_images_total", registry)
        self.pending_images = gauge("platestream_recognition_pending_images", registry)
        self._by_camera = (
            (counter("platestream_recognition_camera_frames_total", registry), _FRAME_COUNTS),
            (counter("platestream_recognition_camera_plates_total", registry), _PLATE_COUNTS),
            (counter("platestream_recognition_camera_passes_total", registry), _PASS_COUNTS),
        )
        self._cameras = CameraLabels(cameras, self._forget_camera)
        self._gap_frames = gauge("platestream_recognition_backlog_frames", registry)
        self._gap_age = gauge("platestream_recognition_backlog_age_seconds", registry)
        self.frame_seconds = histogram(
            "platestream_recognition_inference_seconds", registry, buckets=_FRAME_BUCKETS_SECONDS
        )
        self.frame_age = histogram(
            "platestream_recognition_frame_age_seconds", registry, buckets=_AGE_BUCKETS_SECONDS
        )
        """Age of a frame at the publication of its readings."""
        self.pass_age = histogram(
            "platestream_recognition_pass_age_seconds", registry, buckets=_AGE_BUCKETS_SECONDS
        )
        """Time from a vehicle's last reading to the publication of its recognition."""

    def camera_minute(self, minute: CameraCounts) -> None:
        """Add a camera's counts of one minute."""
        label = self._cameras.of(minute.camera_id)
        for metric, names in self._by_camera:
            for name in names:
                metric.labels(label, name).inc(getattr(minute.counts, name))

    def camera_removed(self, camera_id: UUID) -> None:
        """Drop the metrics of a deleted camera."""
        self._cameras.drop(camera_id)

    def _forget_camera(self, label: str) -> None:
        for metric, names in self._by_camera:
            for name in names:
                metric.remove(label, name)

    def gap_left(self, partition: int, *, frames: int, age_ms: int) -> None:
        """Set the number of unread records in a partition's gaps, and the oldest record's age."""
        self._gap_frames.labels(str(partition)).set(frames)
        self._gap_age.labels(str(partition)).set(max(0, age_ms) / 1000)

    def no_gaps(self) -> None:
        """Remove the gap metrics of all partitions."""
        self._gap_frames.clear()
        self._gap_age.clear()
