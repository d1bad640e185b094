"""Prometheus metrics of the recognition stage."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final
from uuid import UUID

from prometheus_client import CollectorRegistry

from common.metrics import CameraLabels, counter, gauge, histogram
from common.records.counts import CameraCounts
from recognition.workers.pool import RecognizerPool

_FRAME_BUCKETS_SECONDS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_AGE_BUCKETS_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 20.0, 60.0)


class FrameOutcome(StrEnum):
    """The outcome of a frame."""

    READ = "read"
    LATE = "late"
    """Read, long after its capture."""
    STALE = "stale"
    OVER_SHARE = "over_share"
    REFUSED = "refused"


class TrackOutcome(StrEnum):
    """The outcome of a vehicle's track."""

    RECOGNIZED = "recognized"
    SUPPRESSED = "silent"
    UNSURE = "unsure"


class FetchOutcome(StrEnum):
    """The outcome of a frame that was looked for on the frames topic."""

    FOUND = "found"
    GONE = "gone"


class ImageOutcome(StrEnum):
    """The outcome of a pass's images."""

    STORED = "stored"
    LATE = "late"
    REFUSED = "refused"
    LOST = "lost"


_FRAME_COUNTS: Final = (
    *("still", "failed", "slow", "unsent", "lost"),
    *("stale", "surplus", "refused", "read"),
)
_PLATE_COUNTS: Final = ("small", "unread", "outside", "readings")
_PASS_COUNTS: Final = ("reported", "repeated", "unsure", "fragments")


class RecognitionMetrics:
    """The counters of one worker. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None, *, cameras: int = 0) -> None:
        """Without ``registry`` the metrics have one of their own.

        ``cameras``: so many have metrics of their own.
        """
        registry = registry or CollectorRegistry()
        self._frames = counter("platestream_recognition_frames_total", registry)
        self._tracks = counter("platestream_recognition_tracks_total", registry)
        self._fetched = counter("platestream_recognition_frames_fetched_total", registry)
        self._replaced = gauge("platestream_recognition_processes_replaced", registry)
        self._images = counter("platestream_recognition_images_total", registry)
        self._pending_images = gauge("platestream_recognition_pending_images", registry)
        self._by_camera = (
            (counter("platestream_recognition_camera_frames_total", registry), _FRAME_COUNTS),
            (counter("platestream_recognition_camera_plates_total", registry), _PLATE_COUNTS),
            (counter("platestream_recognition_camera_passes_total", registry), _PASS_COUNTS),
        )
        self._cameras = CameraLabels(cameras, self._forget_camera)
        self._gap_frames = gauge("platestream_recognition_gap_frames", registry)
        self._gap_age = gauge("platestream_recognition_gap_age_seconds", registry)
        self._frame_seconds = histogram(
            "platestream_recognition_frame_seconds", registry, buckets=_FRAME_BUCKETS_SECONDS
        )
        self._frame_age = histogram(
            "platestream_recognition_frame_age_seconds", registry, buckets=_AGE_BUCKETS_SECONDS
        )
        self._pass_age = histogram(
            "platestream_recognition_pass_age_seconds", registry, buckets=_AGE_BUCKETS_SECONDS
        )

    def frame_read(self, duration_ms: float, *, is_late: bool = False) -> None:
        """Count a frame that a process read, with the time it took there."""
        outcome = FrameOutcome.LATE if is_late else FrameOutcome.READ
        self._frames.labels(outcome.value).inc()
        self._frame_seconds.observe(duration_ms / 1000)

    def frame_skipped(self, outcome: FrameOutcome) -> None:
        """Count a frame that was not read."""
        self._frames.labels(outcome.value).inc()

    def readings_published(self, age_ms: int) -> None:
        """Observe the age of a frame when its readings were on their topic."""
        self._frame_age.observe(max(0, age_ms) / 1000)

    def tracks_ended(self, outcome: TrackOutcome, count: int = 1) -> None:
        """Count ended tracks."""
        self._tracks.labels(outcome.value).inc(count)

    def recognition_published(self, age_ms: int) -> None:
        """Observe the time from a vehicle's last reading to its published recognition."""
        self._pass_age.observe(max(0, age_ms) / 1000)

    def camera_minute(self, minute: CameraCounts) -> None:
        """Count a minute of a camera."""
        label = self._cameras.of(minute.camera_id)
        for metric, names in self._by_camera:
            for name in names:
                metric.labels(label, name).inc(getattr(minute.counts, name))

    def camera_removed(self, camera_id: UUID) -> None:
        """Forget a camera that is deleted."""
        self._cameras.drop(camera_id)

    def _forget_camera(self, label: str) -> None:
        for metric, names in self._by_camera:
            for name in names:
                metric.remove(label, name)

    def frame_fetched(self, outcome: FetchOutcome) -> None:
        """Count a frame that was looked for on the frames topic."""
        self._fetched.labels(outcome.value).inc()

    def watch_replaced(self, pool: RecognizerPool) -> None:
        """Export the number of processes that a pool has replaced."""
        self._replaced.set_function(lambda: pool.replaced)

    def images_kept(self, outcome: ImageOutcome) -> None:
        """Count the images of a pass."""
        self._images.labels(outcome.value).inc()

    def watch_pending_images(self, count: Callable[[], int]) -> None:
        """Export the number of passes whose images are pending."""
        self._pending_images.set_function(count)

    def gap_left(self, partition: int, *, frames: int, age_ms: int) -> None:
        """Show how many records of a partition's gaps are not read, and the age of the oldest."""
        self._gap_frames.labels(str(partition)).set(frames)
        self._gap_age.labels(str(partition)).set(max(0, age_ms) / 1000)

    def no_gaps(self) -> None:
        """Show no partition any more."""
        self._gap_frames.clear()
        self._gap_age.clear()
