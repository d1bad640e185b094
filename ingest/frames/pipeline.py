"""Sends one camera's frames from its capture process to the frames topic."""

import math
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from common.records.cameras import CameraConfig
from common.records.counts import CaptureCounts
from common.records.frames import FrameKind, FrameMeta
from ingest.capture.messages import Moment, Sampled, StatusReport
from ingest.clocks import Clock, Instant, Timeline
from ingest.frames.producer import FrameProducer
from ingest.frames.snapshots import Snapshot, SnapshotUploader
from ingest.metrics import DropReason, IngestMetrics

_TICK_SECONDS: Final = 1.0
_STILL_SECONDS: Final = 3.0
_STILL_WHILE_HELD_BACK_SECONDS: Final = 15.0
"""Maximum age of a report that nothing moves, if only key frames are decoded."""


@dataclass(frozen=True, kw_only=True)
class PipelineDeps:
    """Collaborators of all pipelines."""

    frames: FrameProducer
    snapshots: SnapshotUploader
    metrics: IngestMetrics
    now: Clock


class FramePipeline:
    """Sends a camera's frames, and sends ticks while there are no frames.

    Three threads call this class. The capture process's thread delivers frames, the maintenance
    thread sends ticks, and the thread that applies configurations stops and resumes sending.
    """

    def __init__(self, config: CameraConfig, deps: PipelineDeps) -> None:
        """Send a first tick, so that later stages know that the camera's clock is running."""
        start = deps.now()
        # All threads read this. The thread that applies configurations replaces the whole value.
        self.config = config
        self._deps = deps
        # The process's thread writes these single values, and the maintenance thread reads them.
        self._is_connected = False
        self._holds_back = False
        self._reported_ms = 0
        self._still_seconds = -math.inf
        # Counts of frames by outcome. Only one thread at a time writes each count.
        self._counted = Counter(decoded=0, still=0, failed=0, slow=0, unsent=0, sent=0)
        self._since_ms = start.unix_ms
        # The lock protects these values, because any thread can send. The maintenance thread reads
        # only ``_sent_seconds`` before it acquires the lock.
        self._out_lock = threading.Lock()
        self._timeline = Timeline(start.unix_ms)
        self._sent_seconds = start.seconds
        self._is_closed = False
        self._send_tick(start, start.unix_ms)

    @property
    def camera_id(self) -> UUID:
        """The camera's ID."""
        return self.config.camera_id

    def connected(self) -> None:
        """Record a new connection. Called by the process's thread."""
        self._holds_back = False
        self._is_connected = True

    def on_status(self, report: StatusReport) -> None:
        """Record a stream's progress, even without frames. Called by the process's thread."""
        metrics = self._deps.metrics
        metrics.decoded.inc(report.decoded)
        metrics.still.inc(report.still)
        metrics.dropped.labels(DropReason.FAILED).inc(report.failed)
        counted = self._counted
        counted["decoded"] += report.decoded
        counted["still"] += report.still
        counted["failed"] += report.failed
        self._holds_back = report.holds_back
        self._reported_ms = self._captured_ms(report.settled)
        if report.is_still:
            self._still_seconds = self._deps.now().seconds

    def offer(self, report: Sampled) -> None:
        """Send a frame, store it as a snapshot, or both. Called by the process's thread."""
        captured_ms = self._captured_ms(report.captured)
        if report.moves:
            if self._deps.frames.has_capacity():
                self._send_frame(report, captured_ms)
            else:
                self._deps.metrics.dropped.labels(DropReason.BUFFER).inc()
                self._counted["unsent"] += 1
        if report.is_snapshot:
            self._offer_snapshot(report, captured_ms)

    def frames_dropped(self, count: int) -> None:
        """Count frames that were dropped because this worker was too slow."""
        self._deps.metrics.dropped.labels(DropReason.SLOW).inc(count)
        self._counted["slow"] += count

    def disconnected(self) -> None:
        """Send a tick, because no older frame will follow. Not for the maintenance thread."""
        with self._out_lock:
            self._is_connected = False
            now = self._deps.now()
            self._send_tick(now, self._timeline.reached(now.unix_ms))

    def close(self) -> None:
        """Send a last tick. Afterwards, nothing is sent, not even the frame being processed."""
        with self._out_lock:
            now = self._deps.now()
            self._send_tick(now, self._timeline.reached(now.unix_ms))
            self._is_closed = True

    def end(self, *, deleted: bool = False) -> None:
        """Send an end record, which ends the passes of vehicles in view.

        Nothing is sent after it until :meth:`resume`, not even the frame being processed. A
        ``deleted`` camera is never resumed.
        """
        with self._out_lock:
            now = self._deps.now()
            end = self._meta_without_image(FrameKind.END, self._timeline.reached(now.unix_ms))
            self._deps.frames.send_end(msgspec.structs.replace(end, deleted=deleted))
            self._is_connected = False
            self._is_closed = True

    def resume(self) -> None:
        """Resume sending."""
        with self._out_lock:
            self._is_closed = False

    def tick_if_silent(self, now: Instant) -> None:
        """Send a tick if nothing was sent for a second. Called by the maintenance thread."""
        if now.seconds - self._sent_seconds < _TICK_SECONDS:
            return
        # Another thread holds the lock and is sending, so the camera is not silent.
        if self._out_lock.acquire(blocking=False):
            try:
                if not self._is_closed:
                    self._send_tick(now, self._silent_ms(now))
            finally:
                self._out_lock.release()

    def _silent_ms(self, now: Instant) -> int:
        if not self._is_connected:
            return self._timeline.reached(now.unix_ms)
        if self._holds_back:
            return self._timeline.reached(self._reported_ms)
        return self._timeline.tick(self._reported_ms, now.unix_ms)

    def _captured_ms(self, moment: Moment) -> int:
        now = self._deps.now()
        passed_ms = round((now.seconds - moment.arrival_seconds) * 1000)
        return now.unix_ms - passed_ms - moment.age_ms

    def _send_frame(self, report: Sampled, captured_ms: int) -> None:
        image = report.image
        scale = image.width_px / report.width_px
        with self._out_lock:
            if self._is_closed:
                return
            counted = self._counted
            counted["sent"] += 1
            meta = FrameMeta(
                kind=FrameKind.FRAME,
                camera_id=self.config.camera_id,
                owner_id=self.config.owner_id,
                camera_name=self.config.name,
                captured_ms=self._timeline.frame(captured_ms),
                width_px=image.width_px,
                height_px=image.height_px,
                min_plate_width_px=round(self.config.min_plate_width_px * scale),
                zones=self.config.zones,
                counts=self._counts(),
            )
            sent = self._deps.frames.send_frame(meta, image.data)
            now = self._deps.now()
            if sent:
                self._sent_seconds = now.seconds
            else:
                counted["sent"] -= 1
                counted["unsent"] += 1
        if sent:
            self._deps.metrics.sent.inc()
            self._deps.metrics.delay_seconds.observe((now.unix_ms - meta.captured_ms) / 1000)

    def _send_tick(self, now: Instant, captured_ms: int) -> None:
        self._sent_seconds = now.seconds
        tick = self._meta_without_image(FrameKind.TICK, captured_ms)
        limit_seconds = _STILL_WHILE_HELD_BACK_SECONDS if self._holds_back else _STILL_SECONDS
        is_still = self._is_connected and now.seconds - self._still_seconds <= limit_seconds
        self._deps.frames.send_tick(msgspec.structs.replace(tick, still=is_still))
        self._deps.metrics.ticks.inc()

    def _counts(self) -> CaptureCounts:
        return CaptureCounts(since_ms=self._since_ms, **self._counted)

    def _meta_without_image(self, kind: FrameKind, captured_ms: int) -> FrameMeta:
        return FrameMeta(
            kind=kind,
            camera_id=self.config.camera_id,
            owner_id=self.config.owner_id,
            camera_name=self.config.name,
            captured_ms=captured_ms,
            counts=self._counts(),
        )

    def _offer_snapshot(self, report: Sampled, captured_ms: int) -> None:
        image = report.image
        snapshot = Snapshot(self.config.owner_id, self.config.camera_id, captured_ms, image)
        # Hold the lock. After end(), the snapshot may be deleted and must not be stored again.
        with self._out_lock:
            if not self._is_closed:
                self._deps.snapshots.offer(snapshot)
