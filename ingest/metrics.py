"""Prometheus metrics of an ingest worker."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Final
from uuid import UUID

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from common.metrics import METRICS, OTHER_CAMERAS, counter, gauge, histogram
from common.records.cameras import CameraState

_DELAY_BUCKETS_SECONDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

_BY_CAMERA: Final[tuple[str, ...]] = (
    "platestream_ingest_camera_state",
    "platestream_ingest_camera_frame_age_seconds",
)


class DropReason(StrEnum):
    """Reasons why a frame that should have been sent was dropped."""

    SLOW = "slow"
    BUFFER = "buffer"
    KAFKA = "kafka"
    FAILED = "failed"


class SnapshotOutcome(StrEnum):
    """Result of a snapshot upload."""

    STORED = "stored"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class ReportedCamera:
    """State of a camera. ``silent_seconds``: time since the last frame, or None if disabled."""

    camera_id: UUID
    state: CameraState
    silent_seconds: float | None


class CameraGauges(Collector):
    """Gauges of this worker's cameras, computed on collection. Thread-safe."""

    def __init__(self, limit: int, cameras: Callable[[], Iterable[ReportedCamera]]) -> None:
        """The oldest ``limit`` cameras have separate labels. All other cameras are aggregated."""
        self._limit = limit
        self._cameras = cameras

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the gauges of the cameras' states and of the ages of their last frames."""
        states, ages = (
            GaugeMetricFamily(metric.name, metric.rise, labels=metric.labels)
            for metric in map(METRICS.__getitem__, _BY_CAMERA)
        )
        # IDs start with the creation time.
        views = sorted(self._cameras(), key=attrgetter("camera_id"))
        own, others = views[: self._limit], views[self._limit :]
        for view in own:
            states.add_metric((str(view.camera_id), view.state.value), 1)
            if view.silent_seconds is not None:
                ages.add_metric((str(view.camera_id),), view.silent_seconds)
        for state, count in Counter(view.state for view in others).items():
            states.add_metric((OTHER_CAMERAS, state.value), count)
        silent = [each.silent_seconds for each in others if each.silent_seconds is not None]
        if silent:
            ages.add_metric((OTHER_CAMERAS,), max(silent))
        return (states, ages)


class IngestMetrics:
    """Metrics of an ingest worker (see :mod:`common.metric_catalogue`). Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Create the metrics in ``registry``, by default in a new registry."""
        self.registry = registry or CollectorRegistry()
        self.cameras = gauge("platestream_ingest_cameras", self.registry)
        self.decoded = counter("platestream_ingest_frames_decoded_total", self.registry)
        self.sent = counter("platestream_ingest_frames_sent_total", self.registry)
        self.still = counter("platestream_ingest_frames_without_motion_total", self.registry)
        self.dropped = counter("platestream_ingest_frames_dropped_total", self.registry)
        self.ticks = counter("platestream_ingest_ticks_sent_total", self.registry)
        self.lost = counter("platestream_ingest_connections_lost_total", self.registry)
        self.processes = gauge("platestream_ingest_processes", self.registry)
        self.crashes = counter("platestream_ingest_process_crashes_total", self.registry)
        self.snapshots = counter("platestream_ingest_snapshots_total", self.registry)
        self.config_errors = counter("platestream_ingest_config_errors_total", self.registry)
        self.waiting_bytes = gauge("platestream_ingest_send_buffer_bytes", self.registry)
        self.delay_seconds = histogram(
            "platestream_ingest_send_delay_seconds", self.registry, buckets=_DELAY_BUCKETS_SECONDS
        )
